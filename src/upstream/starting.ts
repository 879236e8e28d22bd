import type { JsonObject } from '../json/index.ts'

/** Milliseconds for servers to start before a client's handshake is answered without them: clients give up after 10 s. */
export const HELD = 1_000
/** Milliseconds for which requests wait for servers that are starting, where any of them may have the answer. */
export const PATIENCE = 5_000

/** Capabilities that a server which has not said them yet may have. */
export const EXPECTED: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
}

/** What work comes to; undefined: it takes longer. */
export async function within<R>(milliseconds: number, work: Promise<R>): Promise<R | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds).unref()
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
