import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import {
  type ClientTls,
  type Connection,
  guardedLookup,
  guardsOfCommands,
  HttpClient,
  type HttpRequest,
  judgeLiteral,
  NetFault,
} from '../net/index.ts'
import { counted } from '../text/index.ts'
import { connectionFault, type StepFault, silence } from './faults.ts'
import { failed, type Run, type Step } from './types.ts'

/** An origin for sockets. */
interface Host {
  /** Without brackets. */
  host: string
  port: number
  secure: boolean
  /** `host:port`, for messages. */
  at: string
}

const guards = guardsOfCommands()

/** Days before its expiry from which a certificate causes a warning. */
const DAYS_LEFT = 14
const DAY = 86_400_000

export function hostOf(origin: string): Host {
  const { protocol, hostname, port } = new URL(origin)
  const secure = protocol === 'https:'
  const number = Number(port) || (secure ? 443 : 80)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: number, secure, at: `${hostname}:${number}` }
}

/**
 * Resolves the name, connects and, for https, checks the certificate; adds a step for each, without sending anything.
 * With a proxy, only its connection is checked.
 * @returns whether every step succeeded
 */
export async function reach(origin: string, run: Run, { proxy, tls }: Connection = {}): Promise<boolean> {
  if (proxy) {
    const { host, port } = proxy
    return dial({ host, port, secure: false, at: `the proxy ${host}:${port}` }, run, 'proxy')
  }
  const host = hostOf(origin)
  if (!(await lookUp(host, run))) return false
  return dial(host, run, 'connection', host.secure ? (socket) => secure(socket, host, run, tls) : undefined)
}

/** Adds a failed step. @param late clause about what timed out */
function fail(
  { steps, signal, timeout }: Run,
  name: Step['name'],
  late: string,
  fault: () => StepFault,
): false {
  steps.push({ name, status: 'failed', ...(signal.aborted ? silence(late, timeout) : fault()) })
  return false
}

async function lookUp({ host, at }: Host, run: Run): Promise<boolean> {
  if (isIP(host)) return true
  try {
    const found = await Promise.race([lookup(host, { all: true }), aborted(run.signal)])
    run.steps.push({ name: 'name', status: 'ok', detail: found.map(({ address }) => address).join(', ') })
    return true
  } catch (error) {
    return fail(run, 'name', `the name of ${at} was not resolved`, () => connectionFault(error, at))
  }
}

/** Rejects when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw new Error('aborted')
}

/** @param then checks over the connection */
async function dial(
  { host, port, at }: Host,
  run: Run,
  name: Step['name'],
  then: (socket: Socket) => boolean | Promise<boolean> = () => true,
): Promise<boolean> {
  const begin = performance.now()
  const target = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  try {
    judgeLiteral(guards.named, target)
  } catch (error) {
    return fail(run, name, '', () => connectionFault(error, at))
  }
  const socket = connect({ host, port, lookup: guardedLookup(guards.named, target) })
  // Later errors are reported by the next step.
  socket.on('error', () => {})
  try {
    await once(socket, 'connect', { signal: run.signal })
    const ms = Math.round(performance.now() - begin)
    run.steps.push({ name, status: 'ok', detail: `${at}, ${ms} ms` })
    return await then(socket)
  } catch (error) {
    socket.destroy()
    return fail(run, name, `${at} did not accept a connection`, () => connectionFault(error, at))
  } finally {
    // Reads a greeting without waiting for it.
    socket.resume().end().unref()
  }
}

async function secure(
  socket: Socket,
  { host, at }: Host,
  run: Run,
  tls: ClientTls | undefined,
): Promise<boolean> {
  // The certificate is verified below, to show its dates; nothing is sent over this connection.
  const options = { socket, host, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }
  const servername = tls?.serverName ?? (isIP(host) ? undefined : host)
  const secured = tlsConnect({
    ...options,
    ...(servername !== undefined && { servername }),
    ...(tls && { secureContext: tls.context }),
  })
  secured.on('error', () => {})
  const refuse = (fault: () => StepFault) => {
    secured.destroy()
    return fail(run, 'TLS', `${at} did not finish the TLS handshake`, fault)
  }
  try {
    await once(secured, 'secureConnect', { signal: run.signal })
  } catch (error) {
    return refuse(() => connectionFault(error, at))
  }
  const end = Date.parse(secured.getPeerCertificate().valid_to)
  const until = Number.isNaN(end) ? undefined : new Date(end).toISOString().slice(0, 10)
  // OpenSSL reports a self-signed and expired certificate only as self-signed.
  const isOver = end < Date.now()
  if (!secured.authorized || isOver) {
    const code = isOver ? 'CERT_HAS_EXPIRED' : String(secured.authorizationError ?? 'ERR_TLS')
    const fault = connectionFault({ code }, at)
    return refuse(() =>
      isOver ? { ...fault, detail: `the TLS certificate of ${at} has expired, on ${until}` } : fault,
    )
  }
  const days = Math.floor((end - Date.now()) / DAY)
  const left = `${counted(days, 'day')} left`
  const detail = `${secured.getProtocol()}, the certificate has ${left}`
  const soon = `the certificate of ${at} expires on ${until}: ${left}`
  const hint = 'Renew it, and find out why it was not renewed automatically'
  run.steps.push(
    days >= DAYS_LEFT || Number.isNaN(days)
      ? { name: 'TLS', status: 'ok', detail }
      : { ...failed('TLS', 'certificate-expires', soon, hint), status: 'warning' },
  )
  secured.destroy()
  return true
}

interface HttpHead {
  status: number
  /** Media type in lower case; empty if absent. */
  type: string
  location: string | undefined
  /** Whether it names the required credentials. */
  challenges: boolean
}

/**
 * Sends one request and reads only the head of the response.
 * @throws NetFault
 */
export async function ask(
  request: HttpRequest,
  { timeout, signal }: Run,
  connection?: Connection,
): Promise<HttpHead> {
  const http = new HttpClient({ connectTimeout: timeout })
  try {
    const answer = await http.open(request, { ...connection, signal, guard: guards.named }, (fault) => fault)
    if (answer instanceof NetFault) throw answer
    answer.body.on('error', () => {})
    const [type = '', location] = ['content-type', 'location'].map((name) =>
      String(answer.headers[name] ?? ''),
    )
    return {
      status: answer.status,
      type: type.split(';', 1)[0]!.trim().toLowerCase(),
      location: location || undefined,
      challenges: answer.headers['www-authenticate'] !== undefined,
    }
  } finally {
    await http.close()
  }
}
