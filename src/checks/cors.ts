import { type Configuration, type Cors, METHODS, type Router, serverNames } from '../config/model.ts'
import type { Report } from '../config/report.ts'
import type { Path } from '../config/types.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import type { Checking } from './fields.ts'

/** What pages send to MCP endpoints beside the headers that need no leave (2025-11-25, Transports). */
const REQUEST_HEADERS = ['Content-Type', 'Mcp-Session-Id', 'mcp-protocol-version']
/** And by the stateless revision (2026-07-28, Transports), without which pages can still open sessions. */
const STATELESS_HEADERS = ['Mcp-Method', 'Mcp-Name']

/** The `cors` of a router: what browsers would refuse, and what keeps MCP from working in one. */
export function checkCors(
  { cors }: Router,
  path: Path,
  report: Report,
  { locate, doubtful, login }: Pick<Checking, 'locate' | 'doubtful'> & { login: boolean },
) {
  if (!cors) return
  const { allowOrigins, allowMethods, allowCredentials } = cors
  if (allowCredentials && allowOrigins.includes('*')) {
    report(
      'cors-credentials',
      [...path, 'allowOrigins', allowOrigins.indexOf('*')],
      'the origin `*` together with `allowCredentials`',
      'List the origins, or set `allowCredentials: false`',
      { path: [...path, 'allowCredentials'], message: 'credentials are allowed here' },
    )
  }
  allowMethods.forEach((method, k) => {
    if (METHODS.includes(method)) return
    const message = `${quote(method)} is not an HTTP method`
    report('unknown-method', [...path, 'allowMethods', k], message, methodHint(method))
  })
  allowOrigins.forEach((origin, k) => {
    const meant = mendedOrigin(origin)
    if (meant === origin) return
    const hint = meant
      ? `Write \`${meant}\``
      : 'Write scheme, host and port, such as `https://app.example.com`'
    const message = `no browser sends the origin ${quote(origin)}`
    report('cors-origin', [...path, 'allowOrigins', k], message, hint, undefined, meant ? { now: meant } : {})
  })
  // Without an origin nothing of it is used.
  if (allowOrigins.length === 0) {
    const given = (['allowMethods', 'allowHeaders', 'exposeHeaders', 'allowCredentials'] as const).find(
      (key) => locate.key([...path, key]),
    )
    if (given && !locate.key([...path, 'allowOrigins']))
      report(
        'key-without-effect',
        [...path, given],
        `${quote(given)} does nothing without \`allowOrigins\`: no page may call`,
        'Add `allowOrigins` with the pages that may, such as `[https://app.example.com]`, or remove `cors`',
      )
    return
  }
  const needs = (key: keyof Cors, missing: readonly string[]) => {
    if (missing.length === 0 || doubtful([...path, key])) return
    const message = `\`${key}\` lacks ${quoteAll(missing)}, which MCP in a browser needs`
    report('cors-incomplete', [...path, key], message, 'Add it, or remove the key for what MCP needs')
  }
  needs('allowMethods', allowMethods.some((method) => method === 'POST' || method === '*') ? [] : ['POST'])
  const headers = [
    ...missingFrom(cors, 'allowHeaders', REQUEST_HEADERS),
    // `*` does not stand for this one (Fetch, 4.9).
    ...missingFrom({ ...cors, allowCredentials: true }, 'allowHeaders', login ? ['Authorization'] : []),
  ]
  const stateless = missingFrom(cors, 'allowHeaders', STATELESS_HEADERS)
  needs('allowHeaders', headers.length > 0 ? [...headers, ...stateless] : [])
  if (headers.length === 0 && stateless.length > 0 && !doubtful([...path, 'allowHeaders'])) {
    const message = `\`allowHeaders\` lacks ${quoteAll(stateless)}, which MCP 2026-07-28 in a browser needs`
    const hint = 'Add them, unless all pages use earlier revisions'
    report('cors-incomplete', [...path, 'allowHeaders'], message, hint, undefined, { severity: 'info' })
  }
  needs('exposeHeaders', missingFrom(cors, 'exposeHeaders', ['Mcp-Session-Id']))
}

const LOGIN = /\.Request\.Headers(?:\.|\s+\\?["`])Authorization\b/i

/** Whether what a router serves sends on the `Authorization` of its callers. */
export function forwardsLogin({ servers, tools, mcpServers }: Configuration, router: Router): boolean {
  const names = new Set(serverNames(router))
  const reads = (...values: unknown[]) => LOGIN.test(JSON.stringify(values))
  if (mcpServers.some(({ name, env, url, headers }) => names.has(name) && reads(env, url, headers)))
    return true
  return servers.some(
    ({ name, allowedTools }) =>
      names.has(name) &&
      tools.some(
        (tool) =>
          (allowedTools?.includes(tool.name) ?? true) && reads(tool.endpoint, tool.headers, tool.requestBody),
      ),
  )
}

/** `*` stands for every header, but with credentials for a header of that name only. */
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

/** An origin as browsers send it, case apart; undefined where it cannot be guessed. */
function mendedOrigin(origin: string): string | undefined {
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

export function methodHint(method: string): string {
  const close = nearest(method.toUpperCase(), METHODS)
  return close ? `Did you mean \`${close}\`?` : `Write one of ${quoteAll(METHODS)}`
}
