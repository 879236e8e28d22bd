import { capital, sizeText } from '../text/index.ts'

/** Error codes of the system and of undici by kind. */
const CODES: Partial<Record<NetFaultKind, string>> = {
  name: 'ENOTFOUND EAI_AGAIN EAI_NODATA EAI_NONAME',
  refused: 'ECONNREFUSED',
  unreachable: 'EHOSTUNREACH EHOSTDOWN ENETUNREACH EADDRNOTAVAIL',
  'connect-timeout': 'ETIMEDOUT UND_ERR_CONNECT_TIMEOUT',
  timeout: 'UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT',
  tls: 'UND_ERR_PRX_TLS',
  closed: 'ECONNRESET EPIPE UND_ERR_SOCKET',
  headers: 'UND_ERR_HEADERS_OVERFLOW',
  protocol: 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  request: 'UND_ERR_INVALID_ARG',
  ended: 'UND_ERR_DESTROYED UND_ERR_CLOSED',
}
const KINDS = new Map(
  Object.entries(CODES).flatMap(([kind, codes]) =>
    codes.split(' ').map((code) => [code, kind as NetFaultKind] as const),
  ),
)
const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|EPROTO|ERR_OSSL)/

const UNTRUSTED = 'is signed by an authority that is not trusted here'
/** Certificate errors by OpenSSL code. */
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

/** Descriptions of the denied address classes. */
const DENIED: Readonly<Record<string, string>> = {
  own: 'is this gateway itself',
  metadata: 'is at the address of a metadata service',
  linkLocal: 'is at a link-local address',
  loopback: 'is at a loopback address',
  private: 'is at an address of a private network',
  multicast: 'is at a multicast address',
  reserved: 'is at a reserved address',
  port: 'is at a port',
}

/** Clauses about the host `who`. Those of `tls` depend on the code. */
const CLAUSES = {
  name: (who) => `cannot resolve the host name of ${who}`,
  refused: (who) => `${who} refused the connection: nothing is listening there`,
  unreachable: (who) => `${who} is unreachable from this machine`,
  proxy: (who) => `the proxy could not connect to ${who}`,
  tls: tlsClause,
  /** The gateway denies the address. The code is its class. */
  outbound: (who, code) =>
    `${who} ${DENIED[code] ?? DENIED.reserved}, to which this gateway does not connect (outbound)`,
  /** The circuit breaker is open. */
  breaker: (who) => `${who} is not called for now`,
  'connect-timeout': (who) => `${who} did not accept a connection in time`,
  timeout: (who) => `${who} did not respond in time`,
  cancelled: () => 'the call was cancelled',
  closed: (who) => `${who} closed the connection before its response was complete`,
  protocol: (who) => `${who} sent an invalid HTTP response`,
  headers: (who) => `the response headers of ${who} are too large`,
  'too-large': (who) => `the response of ${who} is larger than the limit`,
  /** The encoding is not supported, or the data is damaged. */
  encoding: (who) => `the response of ${who} cannot be decoded`,
  /** The buffers of the gateway are full. */
  'no-room': (who) =>
    `the gateway has no room for the response of ${who} at the moment (maxBuffered); try again later`,
  request: (who) => `the request to ${who} is not valid HTTP`,
  /** The HTTP client was closed during the request. */
  ended: (who) => `the request to ${who} was cut off: the gateway is shutting down or was reconfigured`,
  /** Any other error. */
  other: (who) => `the request to ${who} failed`,
} satisfies Record<string, (who: string, code: string) => string>

/** Why an HTTP request has no answer: a key of `CLAUSES`. */
export type NetFaultKind = keyof typeof CLAUSES

/**
 * The error message for an answer or a server's message above `maxResponseSize`.
 * @param who the host or server, with details of the answer
 * @param limit bytes, decoded
 */
export function tooLargeText(who: string, limit: number): string {
  return `The response of ${who} is larger than the limit of ${sizeText(limit)} (maxResponseSize)`
}

/** Kinds whose message includes the system's error code. */
const SHOWS_CODE: ReadonlySet<NetFaultKind> = new Set(['name', 'unreachable', 'proxy', 'tls', 'other'])

/** Why an HTTP request has no answer. The message names the host, but no path, file or stack. */
export class NetFault extends Error {
  override readonly name = 'NetFault'
  /** The request may have had its effect, and a repetition could do harm. */
  uncertain = false
  /** The headers of an answer arrived. */
  answered = false
  /** HTTP status of an answer that is `too-large`. */
  status: number | undefined

  /**
   * @param host its name in messages, such as its origin
   * @param clause part of a sentence, without a capital and a full stop
   * @param code of the system, TLS or undici; empty if unknown
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

  /** Creates a fault with the clause of its kind. @param who name of the host, such as its origin */
  static of(kind: NetFaultKind, who: string, code = '', cause?: unknown): NetFault {
    const clause = CLAUSES[kind](who, code)
    const shown = code && SHOWS_CODE.has(kind) ? `${clause} (${code})` : clause
    return new NetFault(kind, who, shown, code, cause === undefined ? undefined : { cause })
  }
}

function tlsClause(who: string, code: string): string {
  if (NO_TLS.has(code)) return `${who} does not speak TLS`
  const wrong = CERTIFICATES[code]
  return wrong
    ? `the TLS certificate of ${who} ${wrong}`
    : `a trusted TLS connection to ${who} cannot be established`
}

/**
 * Classifies an error of a connection or of undici.
 * @param who name of the host, such as its origin
 * @param proxied whether the connection goes through a proxy. Default false
 */
export function netFault(error: unknown, who: string, proxied = false): NetFault {
  if (error instanceof NetFault) return error
  const code = errorCode(error)
  const kind = kindOf(error, code, proxied)
  if (kind === 'request') {
    const reason = (error as Error).message
    return new NetFault(kind, who, `${CLAUSES.request(who)}: ${reason}`, code, { cause: error })
  }
  // Either the proxy or the host sent it.
  const sender = proxied && kind === 'protocol' ? `the proxy of ${who}, or ${who} itself,` : who
  return NetFault.of(kind, sender, code, error)
}

function kindOf(error: unknown, code: string, proxied: boolean): NetFaultKind {
  const { name, message } = error as Error
  const kind = KINDS.get(code) ?? (TLS.test(code) ? 'tls' : undefined)
  if (proxied && (UNCONNECTED.test(code) || /proxy|socks/i.test(message))) return 'proxy'
  if (kind) return kind
  if (name === 'HTTPParserError' || code.startsWith('HPE_')) return 'protocol'
  return name === 'AbortError' ? 'cancelled' : 'other'
}

/** Behind a proxy, codes of a failed connection to the proxy, or from the proxy to the host. */
const UNCONNECTED = /^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/

/** The code of an error; the code of the first attempt if the error holds several. */
export function errorCode(error: unknown): string {
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown[]; cause?: unknown }
  if (typeof code === 'string') return code
  if (Array.isArray(errors) && errors.length > 0) return errorCode(errors[0])
  return typeof cause === 'object' && cause !== null ? errorCode(cause) : ''
}
