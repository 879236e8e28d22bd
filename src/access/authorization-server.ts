import { type Guards, type HttpAnswer, type HttpClient, NetFault, urlFault } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'

/** Dependencies for requests to authorization servers. */
export interface IssuerParts {
  http: HttpClient
  /** Checks outbound connections; absent: every address is allowed. */
  guards?: Guards | undefined
  log: Logger
  /** Time of day: milliseconds since 1970. */
  now: () => number
  /** A monotonic clock, as `performance.now`. */
  steady: () => number
}

/** Milliseconds allowed for an answer of an authorization server. */
export const ANSWER_TIMEOUT = 10_000

/** A document of an authorization server is invalid. */
class UnusableDocument extends Error {}

/** Origin and path, for the HTTP client. */
export function addressOf(url: string): { origin: string; path: string } {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

/** The guard of a URL: `named` by the configuration, or chosen by a document. */
export function guardFor(guards: Guards | undefined, url: string, named: readonly (string | undefined)[]) {
  const { origin } = new URL(url)
  const isNamed = named.some((one) => one !== undefined && new URL(one).origin === origin)
  return isNamed ? guards?.named : guards?.decided
}

/** Fetches a JSON object as text. Redirects are not followed. @throws Error with the reason */
export async function fetchDocument(
  { http, guards }: Pick<IssuerParts, 'http' | 'guards'>,
  url: string,
  named: readonly (string | undefined)[],
): Promise<string> {
  const request = { method: 'GET', ...addressOf(url), headers: { accept: 'application/json' } }
  const guard = guardFor(guards, url, named)
  const options = { timeout: ANSWER_TIMEOUT, maxSize: 256 * 1024, guard }
  const { status, body } = await http.fetch(request, options)
  if (status !== 200) throw new UnusableDocument(`${url} responded with status ${status}`)
  return body.toString()
}

/** Metadata of an authorization server about one of its endpoints. */
interface Discovered {
  url: string
  /** Client authentication methods (RFC 8414, 2), if declared. */
  methods?: readonly unknown[]
}

/**
 * A URL in the metadata of an authorization server (RFC 8414, 3; OpenID Connect Discovery, 4).
 * @throws Error with the reason
 */
export async function discover(
  parts: Pick<IssuerParts, 'http' | 'guards'>,
  issuer: string,
  member: 'jwks_uri' | 'introspection_endpoint' | 'token_endpoint',
): Promise<Discovered> {
  let fault: unknown
  for (const url of metadataUrls(issuer))
    try {
      return memberOf(await fetchDocument(parts, url, [issuer]), url, issuer, member)
    } catch (error) {
      // A server that does not respond has no other documents either.
      if (!(error instanceof UnusableDocument)) throw error
      fault = error
    }
  throw fault
}

/** An endpoint of an authorization server that accepts forms. */
export class FormEndpoint {
  private found: Discovered | undefined

  /** @param where `url`: absent: found as `member` in the metadata of `issuer`. `login`: the `Authorization`, if any */
  constructor(
    private readonly parts: Pick<IssuerParts, 'http' | 'guards'>,
    private readonly where: {
      issuer: string
      url: string | undefined
      member: 'introspection_endpoint' | 'token_endpoint'
      login?: string | undefined
    },
  ) {
    this.forget()
  }

  /** Its address and authentication methods. @throws Error with the reason */
  async find(): Promise<Discovered> {
    this.found ??= await discover(this.parts, this.where.issuer, this.where.member)
    return this.found
  }

  /** @throws Error with the reason */
  async post(
    form: URLSearchParams,
    login = this.where.login,
  ): Promise<{ answer: HttpAnswer; origin: string }> {
    const { http, guards } = this.parts
    const { issuer, url } = this.where
    const { url: at } = await this.find()
    const headers = {
      ...(login !== undefined && { authorization: login }),
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    }
    const request = { method: 'POST', ...addressOf(at), headers, body: form.toString() }
    const guard = guardFor(guards, at, [issuer || undefined, url])
    const send = () => http.fetch(request, { timeout: ANSWER_TIMEOUT, maxSize: 64 * 1024, guard })
    // A kept-alive connection may have been closed; repeating is safe.
    const answer = await send().catch((error) => {
      if (error instanceof NetFault && error.kind === 'closed') return send()
      throw error
    })
    return { answer, origin: request.origin }
  }

  /** Discards the metadata, as the endpoint may have moved. */
  forget(): void {
    const { url } = this.where
    this.found = url === undefined ? undefined : { url }
  }
}

function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  )
  return path ? [...inserted, `${origin}${path}/.well-known/openid-configuration`] : inserted
}

function memberOf(text: string, url: string, issuer: string, member: string): Discovered {
  const metadata = objectOf(text)
  if (metadata?.issuer !== issuer) throw new UnusableDocument(`${url} is not the metadata of ${issuer}`)
  const value = metadata[member]
  if (typeof value !== 'string' || urlFault(value))
    throw new UnusableDocument(`${url} has no ${member} that is an https URL`)
  const methods = metadata[`${member}_auth_methods_supported`]
  return { url: value, ...(Array.isArray(methods) && { methods }) }
}

/** `Authorization` of a client (RFC 6749, 2.3.1). */
export function basicLogin(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/** Undefined: the text is not a JSON object. */
export function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
