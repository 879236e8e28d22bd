import { readOrigin, readPath } from './endpoint.ts'
import type { Answer, UpstreamRequest } from './exchange.ts'
import { CallError } from './failure.ts'

/** Redirects followed in one call. */
export const MAX_REDIRECTS = 5

/** Headers that go along to another origin: none that a template, an argument or the author made a secret of. */
const PORTABLE = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** Whether the answer asks for another request. */
export function isRedirect({ status, headers }: Answer): boolean {
  return [301, 302, 303, 307, 308].includes(status) && typeof headers.location === 'string'
}

/**
 * The request that a redirect asks for, by the rules of fetch: 303 becomes GET, and so do 301 and 302 of a
 * POST. Headers of the tool stay with the first origin, and a secure call stays secure.
 * @throws CallError
 */
export function redirected(request: UpstreamRequest, answer: Answer): UpstreamRequest {
  const { status } = answer
  let url: URL
  try {
    url = new URL(String(answer.headers.location), request.origin + request.path)
  } catch {
    throw new CallError('redirect', `${request.origin} answered ${status} with a Location that is not a URL.`)
  }
  const origin = originOf(url, status, request)
  if (request.origin.startsWith('https:') && origin.startsWith('http:'))
    throw new CallError(
      'redirect',
      `${request.origin} answered ${status} with a redirect to ${origin}, which is not secure; it is not followed.`,
    )
  const toGet = status === 303 ? request.method !== 'HEAD' : status <= 302 && request.method === 'POST'
  const headers: string[] = []
  for (let i = 0; i < request.headers.length; i += 2) {
    const name = request.headers[i]!.toLowerCase()
    if (origin !== request.origin && !PORTABLE.has(name)) continue
    if (toGet && name.startsWith('content-')) continue
    headers.push(request.headers[i]!, request.headers[i + 1]!)
  }
  const next: UpstreamRequest = {
    method: toGet ? 'GET' : request.method,
    origin,
    path: readPath(url.pathname + url.search, 0),
    headers,
  }
  if (!toGet && request.body !== undefined) next.body = request.body
  return next
}

function originOf(url: URL, status: number, request: UpstreamRequest): string {
  try {
    return readOrigin(`${url.protocol}//${url.username || url.password ? '@' : ''}${url.host}`)
  } catch {
    throw new CallError(
      'redirect',
      `${request.origin} answered ${status} with a redirect that is not followed: only http and https addresses without credentials are.`,
    )
  }
}
