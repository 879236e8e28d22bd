import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const ORIGIN = 'http://127.0.0.1'
const PATH = '/callback'
const PAGE = (text: string) =>
  `<!doctype html><meta charset="utf-8"><title>plantgw</title><p>${text} You can close this window.</p>`
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  connection: 'close',
}

/** Redirect target on the loopback interface (RFC 8252, 7.3). Close it. */
export class Loopback {
  private constructor(private readonly server: Server) {}

  /** @param port 0: any free port @throws NodeJS.ErrnoException */
  static async open(port: number): Promise<Loopback> {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    return new Loopback(server)
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}${PATH}`
  }

  /** The authorization response from the browser; responses with another `state` are ignored. */
  wait(state: string, signal: AbortSignal): Promise<URLSearchParams> {
    const { server } = this
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason)
      if (signal.aborted) abort()
      signal.addEventListener('abort', abort, { once: true })
      server.on('request', ({ method, url = '' }, response) => {
        // A path such as `//` is not a URL.
        const called = URL.canParse(url, ORIGIN) ? new URL(url, ORIGIN) : undefined
        if (method !== 'GET' || called?.pathname !== PATH)
          return response.writeHead(404, HEADERS).end(PAGE('Nothing is here.'))
        const { searchParams } = called
        if (!same(searchParams.get('state') ?? '', state))
          return response.writeHead(400, HEADERS).end(PAGE('This is not the answer to the login.'))
        const text = searchParams.has('error') ? 'The login has failed.' : 'The login is complete.'
        response.writeHead(200, HEADERS).end(PAGE(text))
        signal.removeEventListener('abort', abort)
        resolve(searchParams)
      })
    })
  }

  close(): void {
    this.server.close()
    this.server.closeIdleConnections()
  }
}

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
