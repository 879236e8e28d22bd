import type { JsonObject } from '../json/index.ts'
import { Fault } from '../mcp/index.ts'

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

/** Milliseconds after which a server without an answer counts as silent. */
const SILENT_AFTER = 3_000
/** Milliseconds that requests wait for a silent server. */
const SILENT_TIMEOUT = 1_000

/** Limits how long combined answers wait for one of the servers. */
export class AnswerTimeout {
  #isSilent = false

  /** @param answer of the server; undefined: the request was cancelled. A silent server is waited for only briefly */
  async limit<T>(answer: Promise<T | Fault | undefined>): Promise<T | Fault | undefined> {
    let timer = setTimeout(() => {
      this.#isSilent = true
    }, SILENT_AFTER)
    const wasSilent = this.#isSilent
    const heard = answer.then((one) => {
      if (one !== undefined && !(one instanceof Fault)) this.#isSilent = false
      return one
    })
    const settled = heard.finally(() => clearTimeout(timer))
    if (!wasSilent) return settled
    clearTimeout(timer)
    const silence = new Promise<Fault>((resolve) => {
      timer = setTimeout(() => resolve(SILENT), SILENT_TIMEOUT)
    })
    return Promise.race([settled, silence])
  }
}

const SILENT = new Fault('timeout', 'The server has not answered for a while')
