import { type Json, parse } from '../json/index.ts'
import type { Typed } from './decode.ts'
import type { UpstreamRequest } from './exchange.ts'
import { lazy } from './words.ts'

const SHOWN = '***'
const SECRET_HEADER =
  /^(?:authorization|cookie|set-cookie|.*-authorization)$|key|token|secret|passw|credential|signature/i
const SECRET_PARAMETER =
  /(?:^|api[_-]?|access[_-]?|app[_-]?|subscription[_-]?)key$|token$|secret|passw|pwd|credential|signature|(?:^|[_-])(?:auth|sig|session)(?:$|[_-])/i
/** Shorter ones stand in too many other words. */
const SHORTEST = 6

export const isSecretHeader = (name: string) => SECRET_HEADER.test(name)

/**
 * What of a request would be worth stealing: the values of headers and query parameters with telling names.
 * @param args of the call: what the client said itself it may hear again
 */
export function credentialsOf({ headers, path }: UpstreamRequest, args: Json): string[] {
  const found: string[] = []
  const said = textsOf(args)
  for (let i = 0; i < headers.length; i += 2) {
    if (!isSecretHeader(headers[i]!)) continue
    const value = headers[i + 1]!
    // `Bearer abc` is a credential, and so is `abc` alone.
    found.push(value, value.replace(/^[\w-]+\s+/, ''), ...cookieValues(headers[i]!, value))
  }
  for (const pair of path.replace(/^[^?]*\??/, '').split('&')) {
    const [name = '', value = ''] = pair.split('=', 2)
    if (SECRET_PARAMETER.test(decoded(name))) found.push(value, decoded(value))
  }
  const forms = found
    .filter((value) => value.length >= SHORTEST && !said.has(value))
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
  // The longest first: one may hold another.
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

/** An answer that repeats none of the credentials, as some servers do when they refuse one. */
export function withoutCredentials(read: Typed, credentials: readonly string[]): Typed {
  const mask = (text: string) => credentials.reduce((rest, each) => rest.replaceAll(each, SHOWN), text)
  const { headers } = read.answer
  const masked = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(mask) : value && mask(value),
  ])
  const text = lazy(() => mask(read.text()))
  const data = lazy(() => (text() === read.text() ? read.data() : parse(text())))
  return { ...read, answer: { ...read.answer, headers: Object.fromEntries(masked) }, text, data }
}

/** Every scalar within, as text. */
function textsOf(value: Json, texts = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return texts.add(String(value))
  for (const member of Object.values(value)) textsOf(member, texts)
  return texts
}

function cookieValues(name: string, value: string): string[] {
  if (name.toLowerCase() !== 'cookie') return []
  return value.split(';').map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
