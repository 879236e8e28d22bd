import { capital } from '../text/index.ts'

/**
 * Why an HTTP request has no answer.
 *
 * - `name`: the host name cannot be resolved.
 * - `refused`: the host refuses connections.
 * - `unreachable`: there is no route to the host.
 * - `proxy`: the proxy gives no connection to the host.
 * - `tls`: no trusted TLS connection can be made.
 * - `connect-timeout`: the connection was not accepted in time.
 * - `timeout`: the answer did not come in time.
 * - `cancelled`: the caller cancelled the request.
 * - `closed`: the connection was closed before the answer was complete.
 * - `protocol`: what came is not HTTP.
 * - `headers`: the headers of the answer are too large.
 * - `too-large`: the body of the answer is larger than the limit.
 * - `encoding`: the content encoding of the answer is not supported, or its data are damaged.
 * - `no-room`: the gateway holds as much as it may.
 * - `request`: the request itself is not valid HTTP.
 * - `ended`: the client was closed while the request was under way.
 * - `other`: an error that has no kind of its own.
 */
export type NetFaultKind =
  | 'name'
  | 'refused'
  | 'unreachable'
  | 'proxy'
  | 'tls'
  | 'connect-timeout'
  | 'timeout'
  | 'cancelled'
  | 'closed'
  | 'protocol'
  | 'headers'
  | 'too-large'
  | 'encoding'
  | 'no-room'
  | 'request'
  | 'ended'
  | 'other'

const CODES: Readonly<Record<string, NetFaultKind>> = {
  ENOTFOUND: 'name',
  EAI_AGAIN: 'name',
  EAI_NODATA: 'name',
  EAI_NONAME: 'name',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ETIMEDOUT: 'connect-timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_PRX_TLS: 'tls',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  UND_ERR_SOCKET: 'closed',
  UND_ERR_HEADERS_OVERFLOW: 'headers',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_INVALID_ARG: 'request',
  UND_ERR_DESTROYED: 'ended',
  UND_ERR_CLOSED: 'ended',
}
const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|EPROTO|ERR_OSSL)/

const UNTRUSTED = 'is signed by an authority that is not trusted here'
/** What is wrong with the certificate, by the code of OpenSSL. */
const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host',
}
const NO_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO'])

/** Clauses about the host, which is called `who`; those of `tls` go by the code. */
const CLAUSES: Readonly<Record<Exclude<NetFaultKind, 'tls'>, (who: string) => string>> = {
  name: (who) => `cannot resolve the host name of ${who}`,
  refused: (who) => `${who} refused the connection: nothing is listening there`,
  unreachable: (who) => `${who} is unreachable from this machine`,
  proxy: (who) => `the proxy could not connect to ${who}`,
  'connect-timeout': (who) => `${who} did not accept a connection in time`,
  timeout: (who) => `${who} did not respond in time`,
  cancelled: () => 'the call was cancelled',
  closed: (who) => `${who} closed the connection before its response was complete`,
  protocol: (who) => `${who} sent an invalid HTTP response`,
  headers: (who) => `the response headers of ${who} are too large`,
  'too-large': (who) => `the response of ${who} is larger than the limit`,
  encoding: (who) => `the response of ${who} cannot be decoded`,
  'no-room': (who) =>
    `the gateway has no room for the response of ${who} at the moment (maxBuffered); try again later`,
  request: (who) => `the request to ${who} is not valid HTTP`,
  ended: (who) => `the request to ${who} was cut off: the gateway is shutting down or was reconfigured`,
  other: (who) => `the request to ${who} failed`,
}
/** Kinds whose code says something to those who look for the reason. */
const SHOWS_CODE: ReadonlySet<NetFaultKind> = new Set(['name', 'unreachable', 'proxy', 'tls', 'other'])

/** Why an HTTP request has no answer. Its text names the host, and never a path, a file or a stack. */
export class NetFault extends Error {
  override readonly name = 'NetFault'
  /** The request may have been carried out, and doing it twice could do harm. */
  uncertain = false
  /** An answer had begun. */
  answered = false
  /** Its HTTP status, of `too-large`. */
  status: number | undefined

  /**
   * @param host names the host, such as its origin
   * @param clause without a capital and a full stop, to be part of a sentence
   * @param code of the system, TLS or undici, where there is one
   */
  constructor(
    readonly kind: NetFaultKind,
    readonly host: string,
    readonly clause: string,
    readonly code = '',
    options?: ErrorOptions,
  ) {
    super(/^\w+:\/\//.test(clause) ? clause : capital(clause), options)
  }

  /** The fault of a kind about a host. @param who names the host, such as its origin */
  static of(kind: NetFaultKind, who: string, code = '', cause?: unknown): NetFault {
    const clause = kind === 'tls' ? tlsClause(code, who) : CLAUSES[kind](who)
    const shown = code && SHOWS_CODE.has(kind) ? `${clause} (${code})` : clause
    return new NetFault(kind, who, shown, code, cause === undefined ? undefined : { cause })
  }
}

function tlsClause(code: string, who: string): string {
  if (NO_TLS.has(code)) return `${who} does not speak TLS`
  const wrong = CERTIFICATES[code]
  return wrong
    ? `the TLS certificate of ${who} ${wrong}`
    : `a trusted TLS connection to ${who} cannot be established`
}

/**
 * What an error of a connection or of undici means.
 * @param who names the host, such as its origin
 * @param proxied whether a proxy stands before the host
 */
export function netFault(error: unknown, who: string, proxied = false): NetFault {
  if (error instanceof NetFault) return error
  const code = errorCode(error)
  const kind = kindOf(error, code, proxied)
  if (kind === 'request') {
    const reason = (error as Error).message
    return new NetFault(kind, who, `${CLAUSES.request(who)}: ${reason}`, code, { cause: error })
  }
  // Which of the two sent it cannot be seen.
  const sender = proxied && kind === 'protocol' ? `the proxy of ${who}, or ${who} itself,` : who
  return NetFault.of(kind, sender, code, error)
}

function kindOf(error: unknown, code: string, proxied: boolean): NetFaultKind {
  const { name, message } = error as Error
  const kind = CODES[code] ?? (TLS.test(code) ? 'tls' : undefined)
  if (proxied && (UNCONNECTED.has(code) || /proxy|socks/i.test(message))) return 'proxy'
  if (kind) return kind
  if (name === 'HTTPParserError' || code.startsWith('HPE_')) return 'protocol'
  return name === 'AbortError' ? 'cancelled' : 'other'
}

/** Through a proxy these are about the connection to the proxy, or are its own answer. */
const UNCONNECTED = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
])

/** The code of an error; of several attempts that of the first. */
export function errorCode(error: unknown): string {
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown[]; cause?: unknown }
  if (typeof code === 'string') return code
  if (Array.isArray(errors) && errors.length > 0) return errorCode(errors[0])
  return typeof cause === 'object' && cause !== null ? errorCode(cause) : ''
}
