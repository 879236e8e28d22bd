export type ResponseHeaders = Readonly<Record<string, string>>

/** A response as plain data. */
export class HttpResponse {
  /** @param headers names in lower case */
  constructor(
    readonly status: number,
    readonly headers: ResponseHeaders = {},
    readonly body: string | Buffer | ReadableStream<Uint8Array> = '',
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
    // Even an empty text would get a content type.
    const isEmpty = 'length' in Object(body) && (body as string).length === 0
    return new Response(isEmpty ? null : (body as string), { status, headers })
  }
}
