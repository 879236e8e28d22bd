import { type Cors, METHODS, type Path } from '../../config/index.ts'
import { type Report, type Reporter, suggest } from '../../findings/index.ts'
import { quote, quoteAll } from '../../text/index.ts'
import { type Context, withoutEffect } from '../check.ts'

/** Headers that pages send to MCP endpoints beyond the CORS-safelisted ones (2025-11-25, Transports). */
const REQUEST_HEADERS = ['Content-Type', 'Mcp-Session-Id', 'mcp-protocol-version']
/** Headers added by the stateless revision (2026-07-28, Transports); without them pages can still open sessions. */
const STATELESS_HEADERS = ['Mcp-Method', 'Mcp-Name']

/**
 * Checks the `cors` of a router: values that browsers refuse, and omissions that break MCP in browsers.
 * @param login whether pages send `Authorization`
 */
export function checkCors(cors: Cors, login: boolean, report: Reporter, { read, path, isRepaired }: Context) {
  checkValues(cors, [...path, 'cors'], report)
  const isGiven = (key: string) => read.locate.has([...path, 'cors', key])
  // Without origins, the other keys have no effect.
  if (cors.allowOrigins.length === 0) {
    const given = ['allowMethods', 'allowHeaders', 'exposeHeaders', 'allowCredentials'].find(isGiven)
    if (given && !isGiven('allowOrigins'))
      report(
        withoutEffect(
          ['cors', given],
          `without \`allowOrigins\`: no page may call`,
          'Add `allowOrigins` with the pages that may, such as `[https://app.example.com]`, or remove `cors`',
        ),
      )
    return
  }
  const lacks = (key: keyof Cors, missing: readonly string[], more: Partial<Report> = {}) => {
    if (missing.length === 0 || isRepaired([...path, 'cors', key])) return
    report({
      code: 'cors-incomplete',
      path: ['cors', key],
      message: `\`${key}\` lacks ${quoteAll(missing)}, which MCP needs in a browser`,
      hint: 'Add it, or remove the key: its default is what MCP needs',
      ...more,
    })
  }
  lacks(
    'allowMethods',
    cors.allowMethods.some((method) => method === 'POST' || method === '*') ? [] : ['POST'],
  )
  const headers = [
    ...missingFrom(cors, 'allowHeaders', REQUEST_HEADERS),
    // `*` does not include this header (Fetch, 4.9).
    ...missingFrom({ ...cors, allowCredentials: true }, 'allowHeaders', login ? ['Authorization'] : []),
  ]
  const stateless = missingFrom(cors, 'allowHeaders', STATELESS_HEADERS)
  if (headers.length > 0) lacks('allowHeaders', [...headers, ...stateless])
  else
    lacks('allowHeaders', stateless, {
      message: `\`allowHeaders\` lacks ${quoteAll(stateless)}, which MCP 2026-07-28 needs in a browser`,
      hint: 'Add them, unless all pages use earlier revisions',
      severity: 'info',
    })
  lacks('exposeHeaders', missingFrom(cors, 'exposeHeaders', ['Mcp-Session-Id']))
}

function checkValues({ allowOrigins, allowMethods, allowCredentials }: Cors, path: Path, report: Reporter) {
  if (allowCredentials && allowOrigins.includes('*'))
    report({
      code: 'cors-credentials',
      path: ['cors', 'allowOrigins', allowOrigins.indexOf('*')],
      message: 'the origin `*` together with `allowCredentials`',
      hint: 'List the origins, or set `allowCredentials: false`',
      related: { path: ['cors', 'allowCredentials'], message: 'credentials are allowed here' },
      // Changing this one is safe: with both, no browser lets a page read an answer.
      fix: ({ text, locate }) => {
        const range = locate([...path, 'allowCredentials'])
        const isPlain = range && text.slice(range.start.offset, range.end.offset) === 'true'
        return isPlain ? { range, text: 'false' } : undefined
      },
    })
  for (const [k, method] of allowMethods.entries())
    if (!METHODS.includes(method)) report({ path: ['cors', 'allowMethods', k], ...wrongMethod(method) })
  checkOrigins(allowOrigins, ['cors', 'allowOrigins'], report)
}

/** Reports origins that no browser sends. */
export function checkOrigins(origins: readonly string[], path: Path, report: Reporter) {
  for (const [i, origin] of origins.entries()) {
    const sent = sentOrigin(origin)
    if (sent === origin) continue
    report({
      code: 'cors-origin',
      path: [...path, i],
      message: `no browser sends the origin ${quote(origin)}`,
      ...(sent === undefined
        ? { hint: 'Write scheme, host and port, such as `https://app.example.com`' }
        : { suggestion: sent, fix: { was: origin, now: sent } }),
    })
  }
}

/** `*` includes every header, but with credentials only a header named `*`. */
function missingFrom(
  cors: Cors,
  key: 'allowHeaders' | 'exposeHeaders',
  wanted: readonly string[],
): readonly string[] {
  const given = new Set(cors[key].map((name) => name.toLowerCase()))
  return given.has('*') && !cors.allowCredentials
    ? []
    : wanted.filter((name) => !given.has(name.toLowerCase()))
}

/** An origin as browsers send it, apart from case; undefined if it cannot be guessed. */
function sentOrigin(origin: string): string | undefined {
  if (origin === '*' || origin === 'null') return origin
  const match = /^([a-z][a-z\d+.-]*:\/\/[^\s/?#@*]+)/i.exec(origin)
  if (!match) return undefined
  if (!/^https?:/i.test(origin)) return match[1]
  try {
    const sent = new URL(match[1]!).origin
    return sent === origin.toLowerCase() ? origin : sent
  } catch {
    return undefined
  }
}

export function wrongMethod(method: string): Omit<Report, 'path'> {
  const { suggestion, fix } = suggest(method.toUpperCase(), METHODS)
  return {
    code: 'unknown-method',
    message: `${quote(method)} is not an HTTP method`,
    ...(suggestion === undefined
      ? { hint: `Write one of ${quoteAll(METHODS)}` }
      : { suggestion, ...(fix && { fix: { ...fix, was: method } }) }),
  }
}
