import { shellWords } from '../text/index.ts'

/** An MCP server in the description of a client or proxy. */
export interface ClientServer {
  name: string
  type: 'stdio' | 'sse' | 'streamable-http'
  command?: string
  args: string[]
  env: Record<string, string>
  url?: string
  headers: Record<string, string>
  /** By the server's own names; absent: all. */
  allowedTools?: string[]
  blockedTools: string[]
  /** Bearer tokens of a proxy's callers. */
  tokens: string[]
  /** Settings that a configuration cannot express, reported to the user. */
  notes: string[]
}

/** Programs that bridge transports, which the gateway does itself. */
const BRIDGE = /(?:^|[\\/])(supergateway|mcp-proxy|mcp-remote)(?:@[\w.^~-]+)?$/
/** Launchers, and words between them and the program. */
const LAUNCHER = /(?:^|[\\/])(?:npx|bunx|pnpm|yarn|uvx|uv|node|dlx|tool|run|x|npm|exec|-y|--yes|--)$/

/** Options with a value, by program. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  supergateway: [
    'stdio',
    'sse',
    'streamableHttp',
    'header',
    'oauth2Bearer',
    'port',
    'baseUrl',
    'ssePath',
    'messagePath',
    'streamableHttpPath',
    'outputTransport',
    'sessionTimeout',
    'healthEndpoint',
    'logLevel',
    'protocolVersion',
  ],
  'mcp-proxy': [
    'transport',
    'client-id',
    'client-secret',
    'token-url',
    'cwd',
    'port',
    'host',
    'sse-port',
    'sse-host',
    'allow-origin',
    'log-level',
    'named-server-config',
    'expose-header',
    'verify-ssl',
  ],
  'mcp-remote': [
    'header',
    'transport',
    'host',
    'auth-timeout',
    'static-oauth-client-metadata',
    'static-oauth-client-info',
    'resource',
    'ignore-tool',
  ],
}
/** Options with two values. */
const PAIRS = ['headers', 'env', 'named-server']
const SHORT: Readonly<Record<string, string>> = { H: 'headers', e: 'env' }

interface Line {
  program: string
  options: [name: string, ...values: string[]][]
  rest: string[]
}

/** The server behind a bridge: `mcp-remote URL` becomes a server at that URL. */
export function bridged(server: ClientServer): ClientServer {
  if (server.type !== 'stdio') return server
  const line = lineOf([server.command ?? '', ...server.args])
  const [behind] = line ? serversOf(line, server.env) : []
  if (!behind) return server
  const { allowedTools, blockedTools, tokens } = server
  return {
    ...behind,
    name: server.name,
    ...(allowedTools && { allowedTools }),
    blockedTools,
    tokens,
    notes: [...server.notes, ...behind.notes],
  }
}

/**
 * The servers in a command line of supergateway, mcp-proxy or mcp-remote, or in one that starts a server.
 * @returns the reason, as text, if there are none
 */
export function serversOfLine(text: string): ClientServer[] | string {
  const words = shellWords(text)
  if (!words?.length) return 'it is not a command line: a quote is not closed, or it needs a shell'
  const line = lineOf(words)
  if (!line) return [stdio(words)]
  const found = serversOf(line, {})
  return found.length > 0 ? found : `${line.program} is given neither a command nor a URL`
}

function lineOf(words: readonly string[]): Line | undefined {
  const at = words.findIndex((word) => BRIDGE.test(word))
  if (at < 0 || !words.slice(0, at).every((word) => LAUNCHER.test(word))) return undefined
  const program = BRIDGE.exec(words[at]!)![1]!
  const line: Line = { program, options: [], rest: [] }
  for (let i = at + 1; i < words.length; i++) {
    const word = words[i]!
    const [, long, short, value] = /^(?:--([\w-]+)|-([A-Za-z]))(?:=([\s\S]*))?$/.exec(word) ?? []
    // Everything after the command belongs to it.
    if (word === '--' || (line.rest.length > 0 && program === 'mcp-proxy')) {
      line.rest.push(...words.slice(word === '--' ? i + 1 : i))
      break
    }
    const name = long ?? SHORT[short ?? '']
    if (name === undefined) line.rest.push(word)
    else if (value !== undefined) line.options.push([name, value])
    else if (program === 'mcp-proxy' && PAIRS.includes(name)) {
      line.options.push([name, words[i + 1] ?? '', words[i + 2] ?? ''])
      i += 2
    } else line.options.push(VALUES[program]!.includes(name) ? [name, words[++i] ?? ''] : [name])
  }
  return line
}

function serversOf({ program, options, rest }: Line, env: Readonly<Record<string, string>>): ClientServer[] {
  const all = (name: string) => options.filter(([own]) => own === name).map(([, ...values]) => values)
  const one = (name: string) => all(name)[0]?.[0]
  const headers = Object.fromEntries([
    ...all('header').flatMap(([text = '']) => headerOf(text)),
    ...all('headers'),
  ])
  const bearer = one('oauth2Bearer') ?? (program === 'mcp-proxy' ? env.API_ACCESS_TOKEN : undefined)
  if (bearer !== undefined) headers.Authorization = `Bearer ${bearer}`
  const given = { ...Object.fromEntries(all('env')), ...(program === 'mcp-proxy' ? {} : env) } as Record<
    string,
    string
  >
  const notes =
    one('cwd') === undefined
      ? []
      : ['its `--cwd` is not kept: the process starts in the folder of the gateway']
  const command = (words: readonly string[]) => ({ ...stdio(words), env: given, notes })
  const remote = (url: string, type: ClientServer['type']): ClientServer => ({
    ...empty(hostName(url)),
    type,
    url,
    headers: insert(headers, env),
  })
  if (program === 'supergateway') {
    const [run, sse, http] = [one('stdio'), one('sse'), one('streamableHttp')]
    const words = run === undefined ? undefined : shellWords(run)
    if (words?.length) return [command(words)]
    if (http !== undefined) return [remote(http, 'streamable-http')]
    return sse === undefined ? [] : [remote(sse, 'sse')]
  }
  const [first] = rest
  const isUrl = first !== undefined && /^https?:\/\//i.test(first)
  if (program === 'mcp-remote')
    return isUrl ? [remote(first, one('transport') === 'sse-only' ? 'sse' : typeOf(first))] : []
  if (isUrl) {
    const made = remote(first, one('transport') === 'streamablehttp' ? 'streamable-http' : 'sse')
    const login = ['client-id', 'client-secret', 'token-url'].some((name) => one(name) !== undefined)
    return [
      login
        ? {
            ...made,
            notes: ['it is given client credentials: add `credentials` of the type `client-credentials`'],
          }
        : made,
    ]
  }
  const named = all('named-server').flatMap(([name = '', line = '']) => {
    const words = shellWords(line)
    return words?.length ? [{ ...command(words), name }] : []
  })
  const other = one('named-server-config')
  if (other !== undefined && named[0])
    named[0].notes.push(`import ${other} as well, which \`--named-server-config\` names`)
  return [...(first === undefined ? [] : [command(rest)]), ...named]
}

/** A header may refer to the bridge's own environment. */
function insert(
  headers: Record<string, string>,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+)\}/g, (whole, key: string) => (Object.hasOwn(env, key) ? env[key]! : whole)),
    ]),
  )
}

function headerOf(text: string): [string, string][] {
  const colon = text.indexOf(':')
  return colon < 1 ? [] : [[text.slice(0, colon).trim(), text.slice(colon + 1).trim()]]
}

function typeOf(url: string): ClientServer['type'] {
  return /\/sse\/?(?:[?#]|$)/.test(url) ? 'sse' : 'streamable-http'
}

function empty(name: string): Omit<ClientServer, 'type'> {
  return { name, args: [], env: {}, headers: {}, blockedTools: [], tokens: [], notes: [] }
}

function stdio(words: readonly string[]): ClientServer {
  const [command = '', ...args] = words
  return { ...empty(packageName(words)), type: 'stdio', command, args }
}

/** `npx -y @modelcontextprotocol/server-filesystem /tmp` → `filesystem` */
function packageName(words: readonly string[]): string {
  const named = words.find((word) => !LAUNCHER.test(word) && !word.startsWith('-')) ?? words[0] ?? ''
  const last = named
    .split(/[\\/]/)
    .at(-1)!
    .replace(/@[\w.^~-]+$|\.\w+$/, '')
  return last.replace(/^(?:mcp-server-|server-|mcp-)|(?:-mcp-server|-mcp|-server)$/g, '') || last
}

/** `https://mcp.example.com/sse` → `example` */
function hostName(url: string): string {
  const labels = URL.canParse(url) ? new URL(url).hostname.split('.') : []
  return labels.length > 1 ? labels.at(-2)! : (labels[0] ?? 'server')
}
