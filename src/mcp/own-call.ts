import { isObject, type JsonObject, parseVerbatim } from '../json/index.ts'
import type { Answer } from './answer.ts'
import { Call, type ElicitationOutcome, type Viewer } from './call.ts'
import { silent } from './call-log.ts'
import { Fault } from './fault.ts'
import type { Request } from './protocol.ts'

export const NO_ANSWER = new Fault('lost', "The server gave no valid response to the gateway's own request")

/** One of the gateway's own requests on behalf of a client's call; its messages are dropped. */
export class OwnCall extends Call {
  readonly listing = undefined

  constructor(
    private readonly of: Call,
    request: Request,
    private readonly server: { request(call: Call): Promise<Answer> },
  ) {
    const { context, revision, pipeline, sessionId } = of
    super({ context, request, revision, pipeline, sessionId, callLog: silent(of.callLog) })
  }

  /** The response as the client would see it. */
  async response(): Promise<JsonObject | Fault> {
    const { text } = await this.pipeline.ownRequests(this, () => this.serve())
    const raw = text === undefined ? undefined : parseVerbatim(text)
    return isObject(raw) ? raw : NO_ANSWER
  }

  serve(): Promise<Answer> {
    return this.server.request(this)
  }
  message(): void {}
  get viewer(): Viewer {
    return this.of.viewer
  }
  async ask(): Promise<ElicitationOutcome> {
    return { outcome: 'unavailable' }
  }
  inquire(method: string, params: JsonObject): Promise<JsonObject | Fault> {
    return this.of.inquire(method, params)
  }
}
