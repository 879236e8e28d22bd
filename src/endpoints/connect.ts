import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { codeOf, isTlsCode, networkFault, silence, tlsFault } from './faults.ts'
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
export async function connectTo(
  host: Host,
  steps: Step[],
  timeout: number,
  signal: AbortSignal,
): Promise<Socket | undefined> {
  if (!(await lookUp(host, steps, timeout, signal))) return undefined
  const socket = await dial(host, steps, timeout, signal)
  if (!socket || !host.secure) return socket
  const secured = await secure(socket, host, steps, timeout, signal)
  if (!secured) socket.destroy()
  return secured
}

async function lookUp({ host, at }: Host, steps: Step[], timeout: number, signal: AbortSignal) {
  if (isIP(host)) return true
  try {
    const found = await Promise.race([lookup(host, { all: true }), aborted(signal)])
    steps.push({ name: 'name', status: 'ok', detail: found.map(({ address }) => address).join(', ') })
    return true
  } catch (error) {
    const fault = signal.aborted
      ? silence(`the name of ${at} was not found`, timeout)
      : networkFault(error, at)
    steps.push({ name: 'name', status: 'failed', ...fault })
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
export async function dial(
  { host, port, at }: Host,
  steps: Step[],
  timeout: number,
  signal: AbortSignal,
): Promise<Socket | undefined> {
  const begin = performance.now()
  const socket = connect({ host, port })
  // Errors after this step are told by the next one.
  socket.on('error', () => {})
  try {
    await once(socket, 'connect', { signal })
    const ms = Math.round(performance.now() - begin)
    steps.push({ name: 'connection', status: 'ok', detail: `${at}, ${ms} ms` })
    return socket
  } catch (error) {
    socket.destroy()
    const fault = signal.aborted
      ? silence(`${at} did not accept a connection`, timeout)
      : networkFault(error, at)
    steps.push({ name: 'connection', status: 'failed', ...fault })
    return undefined
  }
}

async function secure(
  socket: Socket,
  { host, at }: Host,
  steps: Step[],
  timeout: number,
  signal: AbortSignal,
): Promise<TLSSocket | undefined> {
  // The certificate is judged below, so that its dates can be told; nothing is sent over what is not trusted.
  const options = { socket, host, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }
  const secured = tlsConnect({ ...options, ...(!isIP(host) && { servername: host }) })
  secured.on('error', () => {})
  const failed = (fault: Omit<Step, 'name' | 'status'>) => {
    secured.destroy()
    steps.push({ name: 'TLS', status: 'failed', ...fault })
    return undefined
  }
  try {
    await once(secured, 'secureConnect', { signal })
  } catch (error) {
    if (signal.aborted) return failed(silence(`${at} did not finish the TLS handshake`, timeout))
    const code = codeOf(error)
    return failed(isTlsCode(code) ? tlsFault(code, at, { host }) : networkFault(error, at))
  }
  const end = Date.parse(secured.getPeerCertificate().valid_to)
  const until = Number.isNaN(end) ? undefined : new Date(end).toISOString().slice(0, 10)
  // A certificate that is both self-signed and out of date is called self-signed by OpenSSL.
  const code = end < Date.now() ? 'CERT_HAS_EXPIRED' : String(secured.authorizationError ?? '')
  if (!secured.authorized) return failed(tlsFault(code, at, { host, ...(until && { until }) }))
  const days = Math.floor((end - Date.now()) / DAY)
  const detail = `${secured.getProtocol()}, the certificate has ${days} ${days === 1 ? 'day' : 'days'} left`
  if (days >= DAYS_LEFT || Number.isNaN(days)) steps.push({ name: 'TLS', status: 'ok', detail })
  else
    steps.push({
      name: 'TLS',
      status: 'warning',
      detail: `the certificate of ${at} ends on ${until}: ${days} ${days === 1 ? 'day' : 'days'} left`,
      hint: 'Renew it, and see why it is not renewed by itself',
      code: 'certificate-expires',
    })
  return secured
}
