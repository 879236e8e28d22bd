import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { shellWords } from '../text/index.ts'

/** Programs that bridge transports, which the gateway does itself. */
const BRIDGE = /(?:^|[\\/])(supergateway|mcp-proxy|mcp-remote)(?:[@:][\w.^~-]+)?$/
/** Launchers, and words between them and the program. */
const LAUNCHER = /(?:^|[\\/])(?:npx|bunx|pnpm|yarn|uvx|uv|node|dlx|tool|run|x|npm|exec|-y|--yes|--)$/

/** How many values an option takes: 1, 2 or any number of them (`+`); absent: none. */
type Arity = Readonly<Record<string, 1 | 2 | '+'>>

const ones = (names: string): Arity => Object.fromEntries(names.split(' ').map((name) => [name, 1]))

const VALUES: Readonly<Record<string, Arity>> = {
  supergateway: {
    ...ones(
      'stdio sse streamableHttp oauth2Bearer port baseUrl ssePath messagePath streamableHttpPath outputTransport ' +
        'sessionTimeout logLevel protocolVersion',
    ),
    ...({ header: '+', cors: '+', healthEndpoint: '+' } as const),
  },
  'mcp-proxy': {
    ...ones(
      'transport client-id client-secret token-url cwd port host sse-port sse-host log-level named-server-config ' +
        'verify-ssl',
    ),
    ...({ headers: 2, env: 2, 'named-server': 2, 'allow-origin': '+', 'expose-header': '+' } as const),
  },
  'mcp-remote': ones(
    'header transport host auth-timeout static-oauth-client-metadata static-oauth-client-info resource ignore-tool',
  ),
}
const SHORT: Readonly<Record<string, string>> = { H: 'headers', e: 'env', p: 'port' }

/** Advice for options that are not imported. */
const INSTEAD: readonly [option: RegExp, note: string][] = [
  [/^(?:sse-)?(?:port|host)$/, 'use `port` and `host` of the settings, or `plantgw serve --port`'],
  [/^baseUrl$/, 'use `publicUrl` of the settings'],
  [/Path$/, 'the gateway serves `{prefix}/mcp`, `{prefix}/sse` and `{prefix}/message`'],
  [
    /^(?:outputTransport|protocolVersion|stateful|stateless)$/,
    'an endpoint serves every transport and revision',
  ],
  [/^sessionTimeout$/, 'use `idleTimeout` of the server'],
  [/^healthEndpoint$/, 'the gateway serves `/_health` and `/_ready`'],
  [/^(?:logLevel|log-level|debug|silent)$/, 'use `logger.level` of the settings'],
  [/^headers?$/, 'the gateway adds no headers to responses'],
  [/^cwd$/, 'the process starts in the folder of the gateway'],
  [/^pass-environment$/, 'name the variables in `env` of the server'],
  [/verify-ssl$/, 'use `tls` of the server'],
  [/^(?:cors|allow-origin)$/, 'use `cors` of the router'],
  [/^enable-proxy$/, 'use `proxy` of the server'],
  [/oauth|^auth-|^resource$/, 'add it to `credentials` of the server'],
]

interface Line {
  program: string
  options: [name: string, ...values: string[]][]
  rest: string[]
  env: Record<string, string>
  notes: string[]
}

/** The server behind a bridge: `mcp-remote URL` becomes a server at that URL. */
export function bridged(server: ClientServer): ClientServer {
  if (server.type !== 'stdio') return server
  const words = [server.command ?? '', ...server.args]
  const line = lineOf(words, server.env)
  const [behind] = line ? serversOf(line) : []
  if (!behind) return dockerServer(server)
  const { allowedTools, blockedTools, tokens } = server
  return {
    ...behind,
    name: server.name,
    ...(allowedTools && { allowedTools }),
    blockedTools: [...behind.blockedTools, ...blockedTools],
    tokens,
    notes: [...server.notes, ...behind.notes],
  }
}

/**
 * The servers in a command line of supergateway, mcp-proxy or mcp-remote, also in a container, or in one that starts a
 * server.
 * @returns the reason, as text, if there are none
 */
export function serversOfLine(text: string): ClientServer[] | string {
  const all = shellWords(text)
  if (!all?.length) return 'it is not a command line: a quote is not closed, or it needs a shell'
  const start = Math.max(
    0,
    all.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word)),
  )
  const words = all.slice(start)
  const env = Object.fromEntries(all.slice(0, start).map(pairOf))
  const line = lineOf(words, env)
  if (!line) return [dockerServer({ ...stdio(words), env })]
  const found = serversOf(line)
  return found.length > 0 ? found : `${line.program} is given neither a command nor a URL`
}

/** `NAME=value` */
function pairOf(text: string): [string, string] {
  const equals = text.indexOf('=')
  return [text.slice(0, equals), text.slice(equals + 1)]
}

/** @param env of the program */
function lineOf(words: readonly string[], env: Readonly<Record<string, string>>): Line | undefined {
  const run = dockerRun(words)
  if (run && BRIDGE.test(run.image)) {
    const left = run.options.filter(
      ([name]) => !/^(?:e|env|i|interactive|t|tty|rm|d|detach|p|publish|pull)$/.test(name),
    )
    const notes = left.map(
      ([name, value]) =>
        `\`${shown(name, value ? [value] : [])}\` of docker is not imported: the server runs on this machine`,
    )
    const read = (text: string) => (text.includes('=') ? pairOf(text) : [text, env[text] ?? `\${${text}}`])
    const own = run.options
      .filter(([name]) => name === 'e' || name === 'env')
      .map(([, text = '']) => read(text))
    const line = optionsOf([run.image, ...run.command], 0, { ...env, ...Object.fromEntries(own) })
    return { ...line, notes }
  }
  const at = words.findIndex((word) => BRIDGE.test(word))
  if (at < 0 || !words.slice(0, at).every((word) => LAUNCHER.test(word))) return undefined
  return optionsOf(words, at, env)
}

function optionsOf(words: readonly string[], at: number, env: Readonly<Record<string, string>>): Line {
  const program = BRIDGE.exec(words[at]!)![1]!
  const line: Line = { program, options: [], rest: [], env: { ...env }, notes: [] }
  for (let i = at + 1; i < words.length; i++) {
    const word = words[i]!
    const [, long, short, value] = /^(?:--([\w-]+)|-([A-Za-z]))(?:=([\s\S]*))?$/.exec(word) ?? []
    // Everything after the command belongs to it.
    if (word === '--' || (line.rest.length > 0 && program === 'mcp-proxy')) {
      line.rest.push(...words.slice(word === '--' ? i + 1 : i))
      break
    }
    const name = long ?? SHORT[short ?? ''] ?? short
    if (name === undefined) {
      line.rest.push(word)
      continue
    }
    const takes = value === undefined ? VALUES[program]![name] : undefined
    let end = i + 1
    if (takes === '+') while (end < words.length && !/^-|^https?:/.test(words[end]!)) end++
    else end += takes ?? 0
    line.options.push([name, ...(value === undefined ? words.slice(i + 1, end) : [value])])
    i = end - 1
  }
  return line
}

/** `--port 80` */
function shown(name: string, values: readonly string[]): string {
  return [name.length === 1 ? `-${name}` : `--${name}`, ...values].join(' ')
}

/** The options of a line; those that were never asked for are reported. */
class Options {
  readonly #used = new Set<string>()
  constructor(readonly all: Line['options']) {}

  /** The values of each use. */
  of(name: string): string[][] {
    this.#used.add(name)
    return this.all.filter(([own]) => own === name).map(([, ...values]) => values)
  }

  one(name: string): string | undefined {
    return this.of(name)[0]?.[0]
  }

  /** The object of an option that is JSON; undefined, and unused: it names a file, or is none. */
  jsonOf(name: string): JsonObject | undefined {
    const text = this.all.find(([own]) => own === name)?.[1]
    try {
      const value = JSON.parse(text ?? '') as Json
      return isObject(value) && this.one(name) !== undefined ? value : undefined
    } catch {
      return undefined
    }
  }

  unused(): string[] {
    const left = this.all.filter(([name]) => !this.#used.has(name))
    return left.map(([name, ...values]) => {
      const [, note] = INSTEAD.find(([option]) => option.test(name)) ?? []
      // A header may hold a secret.
      const text = shown(name, /header|oauth/i.test(name) ? [] : values)
      return `\`${text}\` is not imported${note ? `: ${note}` : ''}`
    })
  }
}

function serversOf(line: Line): ClientServer[] {
  const options = new Options(line.options)
  const servers = { supergateway, 'mcp-proxy': mcpProxy, 'mcp-remote': mcpRemote }[line.program]!(
    line,
    options,
  )
  const notes = [...line.notes, ...options.unused()]
  for (const one of servers) one.notes.push(...notes)
  return servers
}

function supergateway({ env }: Line, options: Options): ClientServer[] {
  const cors = corsOf(options, 'cors')
  const run = options.one('stdio')
  const words = run === undefined ? undefined : shellWords(run)
  if (words?.length) return [{ ...dockerServer({ ...stdio(words), env }), ...cors }]
  const [sse, http] = [options.one('sse'), options.one('streamableHttp')]
  const url = http ?? sse
  if (url === undefined) return []
  const headers = Object.fromEntries(options.of('header').flat().flatMap(headerOf))
  const bearer = options.one('oauth2Bearer')
  if (bearer !== undefined) headers.Authorization = `Bearer ${bearer}`
  return [{ ...remote(url, http === undefined ? 'sse' : 'streamable-http', insert(headers, env)), ...cors }]
}

function mcpRemote({ rest, env }: Line, options: Options): ClientServer[] {
  const [url, port, ...more] = rest
  if (url === undefined || !/^https?:\/\//i.test(url)) return []
  const headers = Object.fromEntries(options.of('header').flat().flatMap(headerOf))
  const isSse = options.one('transport') === 'sse-only'
  const made = remote(url, isSse ? 'sse' : typeOf(url), insert(headers, env))
  made.blockedTools.push(...options.of('ignore-tool').flat())
  // It logs in with a browser if the server asks for that.
  made.oauth = {
    ...oauthOf({
      ...options.jsonOf('static-oauth-client-metadata'),
      ...options.jsonOf('static-oauth-client-info'),
    }),
    resource: options.one('resource'),
  }
  // The port of its login in a browser, and words that it ignores.
  if (port !== undefined) made.notes.push(`\`${[port, ...more].join(' ')}\` behind the URL is not imported`)
  return [made]
}

function mcpProxy({ rest, env }: Line, options: Options): ClientServer[] {
  const cors = corsOf(options, 'allow-origin')
  const [first, ...more] = rest
  if (first !== undefined && /^https?:\/\//i.test(first)) {
    const headers: Record<string, string> = Object.fromEntries(options.of('headers'))
    const bearer = env.API_ACCESS_TOKEN
    if (bearer !== undefined) headers.Authorization = `Bearer ${bearer}`
    const isHttp = options.one('transport') === 'streamablehttp'
    const made = remote(first, isHttp ? 'streamable-http' : 'sse', insert(headers, env))
    const [clientId, clientSecret, tokenUrl] = ['client-id', 'client-secret', 'token-url'].map((name) =>
      options.one(name),
    )
    if (clientId !== undefined && clientSecret !== undefined && tokenUrl !== undefined)
      made.login = { clientId, clientSecret, tokenUrl }
    else if (clientId ?? clientSecret ?? tokenUrl)
      made.notes.push(
        'its client credentials are incomplete: add `credentials` of the type `clientCredentials`',
      )
    if (more.length > 0) made.notes.push(`\`${more.join(' ')}\` behind the URL is not imported`)
    return [{ ...made, ...cors }]
  }
  const own = Object.fromEntries(options.of('env')) as Record<string, string>
  const command = (words: readonly string[]) => ({
    ...dockerServer({ ...stdio(words), env: { ...own } }),
    ...cors,
  })
  const named = options.of('named-server').flatMap(([name = '', line = '']) => {
    const words = shellWords(line)
    return words?.length ? [{ ...command(words), name }] : []
  })
  const other = options.one('named-server-config')
  const all = [...(first === undefined ? [] : [command(rest)]), ...named]
  if (other !== undefined)
    all[0]?.notes.push(`import ${other} as well, which \`--named-server-config\` names`)
  return all
}

/** An option without values allows every origin; one with a pattern stays unused. */
function corsOf(options: Options, name: string): { cors?: string[] } {
  const isPattern = options.all.some(
    ([own, ...values]) => own === name && values.some((one) => one.startsWith('/')),
  )
  const given = isPattern ? [] : options.of(name)
  return given.length === 0 ? {} : { cors: given.flat().length > 0 ? given.flat() : ['*'] }
}

function remote(url: string, type: ClientServer['type'], headers: Record<string, string>): ClientServer {
  return { ...empty(hostName(url)), type, url, headers }
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
  const named = dockerRun(words)?.image ?? words.find((word) => !LAUNCHER.test(word) && !word.startsWith('-'))
  const last = (named ?? words[0] ?? '')
    .split(/[\\/]/)
    .at(-1)!
    .replace(/[@:][\w.^~-]+$|\.\w+$/, '')
  return last.replace(/^(?:mcp-server-|server-|mcp-)|(?:-mcp-server|-mcp|-server)$/g, '') || last
}

/** `https://mcp.example.com/sse` → `example` */
function hostName(url: string): string {
  const labels = URL.canParse(url) ? new URL(url).hostname.split('.') : []
  return labels.length > 1 ? labels.at(-2)! : (labels[0] ?? 'server')
}

/** How a client logs a person in by OAuth; empty: as the server says. */
interface OAuthClient {
  clientId?: string | undefined
  clientSecret?: string | undefined
  scopes?: string[]
  resource?: string | undefined
}

/** The keys that Claude Code, Gemini CLI (`clientId`), Cursor (`CLIENT_ID`) and mcp-remote (`client_id`) give an OAuth client. */
export function oauthOf(given: JsonObject = {}): OAuthClient {
  const text = (...keys: string[]) =>
    keys.map((key) => given[key]).find((value) => typeof value === 'string' && value !== '') as
      | string
      | undefined
  const scopes = [given.scopes ?? given.scope ?? []].flat().flatMap((scope) => String(scope).split(' '))
  return {
    clientId: text('clientId', 'client_id', 'CLIENT_ID'),
    clientSecret: text('clientSecret', 'client_secret', 'CLIENT_SECRET'),
    scopes: scopes.filter(Boolean),
  }
}

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
  /** Origins of web pages that may call a proxy. */
  cors?: string[]
  /** A proxy's login at an authorization server. */
  login?: { tokenUrl: string; clientId: string; clientSecret: string }
  /** The client logs in with a browser if the server asks for that. */
  oauth?: OAuthClient
  /** Settings that a configuration cannot express, reported to the user. */
  notes: string[]
}

/** `docker run [options] image [command]`, or the same with podman. */
interface Run {
  /** By their names without dashes; flags have no value. */
  options: [name: string, value?: string][]
  /** Index of the first word after `run`, and of the image. */
  start: number
  end: number
  image: string
  command: string[]
}

/** Options without a value; combined ones such as `-it` consist of single letters. */
const FLAGS =
  /^(?:--(?:detach|init|interactive|no-healthcheck|oom-kill-disable|privileged|publish-all|quiet|read-only|rm|sig-proxy|tty|use-api-socket)|-[dPqit]+)$/

/** @returns undefined for another command */
export function dockerRun(words: readonly string[]): Run | undefined {
  if (!/(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/.test(words[0] ?? '')) return undefined
  const start = words.indexOf('run') + 1
  if (start === 0) return undefined
  const options: Run['options'] = []
  let at = start
  for (; /^-/.test(words[at] ?? ''); at++) {
    const word = words[at]!
    const [, name = '', value] = /^--?([^=]+)(?:=([\s\S]*))?$/.exec(word) ?? []
    if (FLAGS.test(word)) for (const flag of word.startsWith('--') ? [name] : name) options.push([flag])
    else if (value !== undefined) options.push([name, value])
    else options.push([name, words[++at] ?? ''])
  }
  const image = words[at]
  return image === undefined ? undefined : { options, start, end: at, image, command: words.slice(at + 1) }
}

/** A container that is a server over standard input and output: what it needs for that, and the variables it is given. */
export function dockerServer(server: ClientServer): ClientServer {
  const words = [server.command ?? '', ...server.args]
  const run = dockerRun(words)
  if (!run) return server
  const has = (...names: string[]) => run.options.some(([name]) => names.includes(name))
  const notes = [...server.notes]
  let args = server.args
  const [before, after] = [args.slice(0, run.start - 1), args.slice(run.end - 1)]
  let options = args.slice(run.start - 1, run.end - 1)
  if (has('t', 'tty')) {
    notes.push('`-t` is left out: a server has no terminal')
    options = options.flatMap((word) =>
      word === '--tty' || word === '-t' ? [] : [/^-[dPqit]+$/.test(word) ? word.replace('t', '') : word],
    )
  }
  if (has('d', 'detach')) notes.push('it runs in the background (`-d`): a server of type `stdio` cannot')
  if (!has('i', 'interactive')) {
    notes.push('`-i` is added: the server reads its standard input')
    options = ['-i', ...options]
  }
  args = [...before, ...options, ...after]
  const passed = run.options.flatMap(([name, value = '']) =>
    (name === 'e' || name === 'env') && /^\w+$/.test(value) ? [value] : [],
  )
  const env = { ...Object.fromEntries(passed.map((name) => [name, `\${${name}}`])), ...server.env }
  return { ...server, args, env, notes }
}
