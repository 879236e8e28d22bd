import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, isIP, type Socket } from 'node:net'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import type { HttpRequest } from '../net/index.ts'
import { connectionFault, type StepFault, silence } from './faults.ts'
import type { Step } from './types.ts'

/** An origin as sockets need it. */
export interface Host {
  /** Without brackets. */
  host: string
  port: number
  secure: boolean
  /** `host:port`, for messages. */
  at: string
}

/** One try to check something. */
export interface Run {
  /** What was found so far. */
  steps: Step[]
  /** Milliseconds, for messages: the signal ends what takes longer. */
  timeout: number
  signal: AbortSignal
}

/** Days before its end from which a certificate is warned of. */
const DAYS_LEFT = 14
const DAY = 86_400_000

export function hostOf(origin: string): Host {
  const { protocol, hostname, port } = new URL(origin)
  const secure = protocol === 'https:'
  const number = Number(port) || (secure ? 443 : 80)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: number, secure, at: `${hostname}:${number}` }
}

/**
 * Looks up the name, connects and, for https, looks at the certificate; adds a step for each.
 * @returns a socket to speak over, only where every step is good; the caller ends it
 */
export async function connectTo(host: Host, run: Run): Promise<Socket | undefined> {
  if (!(await lookUp(host, run))) return undefined
  const socket = await dial(host, run)
  if (!socket || !host.secure) return socket
  const secured = await secure(socket, host, run)
  if (!secured) socket.destroy()
  return secured
}

/** Adds the step of a failure. @param late what did not happen in time, as a clause */
function failed(
  { steps, signal, timeout }: Run,
  name: Step['name'],
  late: string,
  fault: () => StepFault,
): undefined {
  steps.push({ name, status: 'failed', ...(signal.aborted ? silence(late, timeout) : fault()) })
}

async function lookUp({ host, at }: Host, run: Run): Promise<boolean> {
  if (isIP(host)) return true
  try {
    const found = await Promise.race([lookup(host, { all: true }), aborted(run.signal)])
    run.steps.push({ name: 'name', status: 'ok', detail: found.map(({ address }) => address).join(', ') })
    return true
  } catch (error) {
    failed(run, 'name', `the name of ${at} was not resolved`, () => connectionFault(error, at))
    return false
  }
}

/** Rejects when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new Error('aborted'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** A connection without TLS, with its step. */
export async function dial({ host, port, at }: Host, run: Run, name: Step['name'] = 'connection') {
  const begin = performance.now()
  const socket = connect({ host, port })
  // Errors after this step are reported by the next one.
  socket.on('error', () => {})
  try {
    await once(socket, 'connect', { signal: run.signal })
    const ms = Math.round(performance.now() - begin)
    run.steps.push({ name, status: 'ok', detail: `${at}, ${ms} ms` })
    return socket
  } catch (error) {
    socket.destroy()
    return failed(run, name, `${at} did not accept a connection`, () => connectionFault(error, at))
  }
}

async function secure(socket: Socket, { host, at }: Host, run: Run): Promise<TLSSocket | undefined> {
  // The certificate is judged below, so that its dates can be shown; nothing is sent over an untrusted connection.
  const options = { socket, host, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }
  const secured = tlsConnect({ ...options, ...(!isIP(host) && { servername: host }) })
  secured.on('error', () => {})
  const refuse = (fault: () => StepFault) => {
    secured.destroy()
    return failed(run, 'TLS', `${at} did not finish the TLS handshake`, fault)
  }
  try {
    await once(secured, 'secureConnect', { signal: run.signal })
  } catch (error) {
    return refuse(() => connectionFault(error, at))
  }
  const end = Date.parse(secured.getPeerCertificate().valid_to)
  const until = Number.isNaN(end) ? undefined : new Date(end).toISOString().slice(0, 10)
  // OpenSSL reports a certificate that is both self-signed and expired as self-signed.
  const isOver = end < Date.now()
  if (!secured.authorized || isOver) {
    const code = isOver ? 'CERT_HAS_EXPIRED' : String(secured.authorizationError ?? 'ERR_TLS')
    const fault = connectionFault({ code }, at)
    return refuse(() =>
      isOver ? { ...fault, detail: `the TLS certificate of ${at} has expired, on ${until}` } : fault,
    )
  }
  const days = Math.floor((end - Date.now()) / DAY)
  const left = `${days} ${days === 1 ? 'day' : 'days'} left`
  if (days >= DAYS_LEFT || Number.isNaN(days))
    run.steps.push({
      name: 'TLS',
      status: 'ok',
      detail: `${secured.getProtocol()}, the certificate has ${left}`,
    })
  else
    run.steps.push({
      name: 'TLS',
      status: 'warning',
      detail: `the certificate of ${at} expires on ${until}: ${left}`,
      hint: 'Renew it, and find out why it was not renewed automatically',
      code: 'certificate-expires',
    })
  return secured
}

export interface HttpHead {
  status: number
  /** Media type in lower case; empty when there is none. */
  type: string
  location: string | undefined
}

/**
 * Sends one request over a socket and reads the head of the response; the body is discarded.
 * @throws the network's error, or when the signal aborts
 */
export function ask(socket: Socket, asked: HttpRequest, signal: AbortSignal): Promise<HttpHead> {
  const { method, origin, path, body } = asked
  const headers = Array.isArray(asked.headers) ? [...asked.headers] : Object.entries(asked.headers).flat()
  const has = (name: string) => headers.some((each, i) => i % 2 === 0 && each.toLowerCase() === name)
  if (!has('host')) headers.push('Host', new URL(origin).host)
  if (body !== undefined) headers.push('Content-Length', String(Buffer.byteLength(body)))
  return new Promise((resolve, reject) => {
    const sent = request({ createConnection: () => socket, method, path, headers, signal })
    const done = (head: HttpHead) => {
      resolve(head)
      socket.destroy()
    }
    sent.once('error', reject)
    sent.once('response', (answer) => {
      const { statusCode: status = 0, headers: got } = answer
      const type = (got['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
      answer.on('error', () => {})
      done({ status, type, location: got.location })
    })
    // The server switched to a protocol that was not requested.
    sent.once('upgrade', (answer) =>
      done({ status: answer.statusCode ?? 101, type: '', location: undefined }),
    )
    sent.end(body)
  }).finally(() => socket.destroy()) as Promise<HttpHead>
}
