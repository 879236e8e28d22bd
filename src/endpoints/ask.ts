import { request } from 'node:http'
import type { Socket } from 'node:net'

export interface HttpHead {
  status: number
  /** Media type in lower case; empty when there is none. */
  type: string
  location: string | undefined
}

export interface HttpAsk {
  method: string
  /** Path and query. */
  path: string
  /** Names and values in turn. */
  headers: readonly string[]
  body?: string
}

/**
 * Sends one request over a socket of its own and reads the head of its answer; the body is thrown away.
 * @throws the network's error, or when the signal aborts
 */
export function ask(socket: Socket, origin: string, asked: HttpAsk, signal: AbortSignal): Promise<HttpHead> {
  const { method, path, headers: given, body } = asked
  const headers = [...given]
  const has = (name: string) => headers.some((each, i) => i % 2 === 0 && each.toLowerCase() === name)
  if (!has('host')) headers.push('Host', new URL(origin).host)
  if (body !== undefined) headers.push('Content-Length', String(Buffer.byteLength(body)))
  return new Promise((resolve, reject) => {
    const sent = request({ createConnection: () => socket, method, path, headers, signal })
    sent.once('error', reject)
    sent.once('response', (answer) => {
      const { statusCode: status = 0, headers: got } = answer
      const type = (got['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
      resolve({ status, type, location: got.location })
      answer.on('error', () => {})
      socket.destroy()
    })
    // A protocol was switched to that nobody asked for.
    sent.once('upgrade', (answer) => {
      resolve({ status: answer.statusCode ?? 101, type: '', location: undefined })
      socket.destroy()
    })
    sent.end(body)
  })
}
