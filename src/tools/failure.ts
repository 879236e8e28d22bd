import type { Failure, ToolResult } from './types.ts'

/**
 * A call that ended early. Thrown inside this room only; `text` goes to the model as it is, `detail` is for those
 * who wrote the tool: it never holds a value.
 */
export class CallError extends Error {
  constructor(
    readonly failure: Failure,
    readonly text: string,
    readonly detail?: string,
  ) {
    super(text)
  }
}

/** A result that says what failed. */
export function errorResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Errors from before there is a connection. */
const CONNECT = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
])
const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|EPROTO|ERR_OSSL)/

/**
 * What an error of the network means, in words: names the origin and never a path of it, a file or a stack.
 * @param proxied whether a proxy stands before the origin
 */
export function networkError(error: unknown, origin: string, proxied: boolean): CallError {
  if (error instanceof CallError) return error
  const code = errorCode(error)
  const message = error instanceof Error ? error.message : ''
  if (/proxy|socks/i.test(message) || (proxied && CONNECT.has(code)))
    return new CallError(
      'connect',
      `The proxy of this tool gave no connection to ${origin}${code ? ` (${code})` : ''}.`,
    )
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_NODATA')
    return new CallError('connect', `The host of ${origin} has no address: the name is not known (${code}).`)
  if (code === 'ECONNREFUSED')
    return new CallError('connect', `${origin} refused the connection: nothing listens there.`)
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return new CallError('timeout', `${origin} did not accept a connection in time.`)
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH' || code === 'EADDRNOTAVAIL')
    return new CallError('connect', `${origin} cannot be reached from here (${code}).`)
  if (TLS.test(code) || code === 'UND_ERR_PRX_TLS')
    return new CallError('tls', `No trusted TLS connection to ${origin} could be made (${code}).`)
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET')
    return new CallError('network', `${origin} closed the connection before its answer was complete.`)
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new CallError('network', `The headers of the answer of ${origin} are too large.`)
  if ((error as Error).name === 'HTTPParserError' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    // Which of the two it was cannot be told.
    const who = proxied ? `The proxy of this tool, or ${origin} behind it,` : origin
    return new CallError('network', `${who} sent an answer that is not sound HTTP.`)
  }
  if (code === 'UND_ERR_INVALID_ARG')
    return new CallError('request', `The request to ${origin} is not sound HTTP: ${message}.`)
  return new CallError('network', `The request to ${origin} failed${code ? ` (${code})` : ''}.`)
}

/** The code of an error; of several attempts that of the first. */
export function errorCode(error: unknown): string {
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown[]; cause?: unknown }
  if (typeof code === 'string') return code
  if (Array.isArray(errors) && errors.length > 0) return errorCode(errors[0])
  return typeof cause === 'object' && cause !== null ? errorCode(cause) : ''
}

/** Whatever ended a call; an error that nobody foresaw tells nothing of itself. */
export function asCallError(error: unknown): CallError {
  if (error instanceof CallError) return error
  if (error instanceof RangeError)
    return new CallError('arguments', 'The arguments or the answer are nested too deep for this gateway.')
  return new CallError('internal', 'The gateway could not make this call.')
}
