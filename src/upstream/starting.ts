import type { JsonObject } from '../json/index.ts'

/** Milliseconds that a client's handshake waits for servers to start; clients give up after 10 s. */
export const HANDSHAKE_WAIT = 1_000
/** Milliseconds that requests wait for starting servers that may have the answer. */
export const MAX_START_WAIT = 5_000

/** Assumed capabilities of a server that is still starting. */
export const ASSUMED_CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
}
