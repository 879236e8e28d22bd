import type { ServerResponse } from 'node:http'

export type ResponseHeaders = Readonly<Record<string, string>>

/** A body that comes part by part: to Node's response, once it has its head, or to a stream of the web. */
export interface Flow {
  flowTo(outgoing: ServerResponse): void
  toWeb(): ReadableStream<Uint8Array>
}

/**
 * A response as plain data, which Node is told to write. The web's `Response`, whose first use loads Node's own undici, is
 * made of it where a framework asks for one.
 */
export class HttpResponse {
  /** @param headers names in lower case */
  constructor(
    readonly status: number,
    readonly headers: ResponseHeaders = {},
    readonly body: string | Buffer | Flow | ReadableStream<Uint8Array> = '',
  ) {}

  static json(value: unknown, status = 200, headers?: ResponseHeaders): HttpResponse {
    return new HttpResponse(status, { 'content-type': 'application/json', ...headers }, JSON.stringify(value))
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300
  }

  async text(): Promise<string> {
    return typeof this.body === 'string' ? this.body : this.toWeb().text()
  }

  toWeb(): Response {
    const { status, headers, body } = this
    const content = typeof body === 'object' && 'flowTo' in body ? body.toWeb() : body
    // Text, however empty, would have a type.
    const isEmpty = 'length' in Object(content) && (content as string).length === 0
    return new Response(isEmpty ? null : (content as string), { status, headers })
  }
}
