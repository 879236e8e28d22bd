import { DEFAULT_LIMITS } from '../../../src/config/model.ts'
import { HttpClient } from '../../../src/net/index.ts'
import { compileTools } from '../../../src/tools/index.ts'
import { holds, type Target } from '../target.ts'

export const places: Target = {
  name: 'places',
  about: 'cookies, paths, queries and headers of a tool: an argument stays one value in its place',
  tokens: [
    ...[
      ';',
      '; admin=1',
      ',',
      '"',
      '=',
      ' ',
      '\t',
      '\r\n',
      '\n',
      '\0',
      '\x7f',
      '..',
      '.',
      '/',
      '\\',
      '../',
      '..\\',
    ],
    ...[
      '%2e',
      '%2E%2e',
      '%252e',
      '%252e%252e',
      '%2f',
      '%255c',
      '%25',
      '%',
      '?',
      '#',
      '&',
      '@',
      '//',
      ':',
      '[',
      '\u2028',
    ],
    ...['é', '\uff0e', '\u2025', '\ud800', '😀', '..;', ';/..', '{{.Config.base}}', '$Path', 'admin'],
  ],
  maxLength: 200,
  ciRuns: 30_000,
  async start() {
    const http = new HttpClient()
    const arg = (name: string, position: 'path' | 'query' | 'header') =>
      ({ name, position, required: false, type: 'string' }) as const
    const tool = {
      name: 'tool',
      description: 'A tool',
      method: 'GET',
      endpoint: 'http://h/v1/{{.Args.a}}/end?q={{.Args.a}}',
      headers: { Cookie: 'first={{.Args.a}}; second="{{.Args.a}}"; third=x', 'X-One': 'a {{.Args.a}} b' },
      args: [arg('a', 'path'), arg('query', 'query'), arg('X-Arg', 'header')],
      followRedirects: false,
    }
    const server = { name: 'server', config: {} }
    const rest = { name: 'test', tenant: 'default', routers: [], prompts: [], mcpServers: [] }
    const { tools } = compileTools({ ...rest, servers: [server], tools: [tool] } as never, server as never, {
      env: {},
      limits: DEFAULT_LIMITS,
      http,
    })
    const compiled = tools.get('tool')!
    const call = { headers: {}, body: null, signal: new AbortController().signal }
    return {
      async run(input) {
        const made = await compiled.request({ a: input, query: input, 'X-Arg': input }, call)
        if ('error' in made) return holds(!/\n\s+at /.test(made.error!), 'an error holds a stack trace')
        const { request } = made
        holds(request.origin === 'http://h', 'the origin has changed')
        holdPath(request.path)
        for (let i = 0; i < request.headers.length; i += 2)
          holdHeader(request.headers[i]!, request.headers[i + 1]!)
      },
      close: () => http.drain(),
    }
  },
}

/** A server in front of the API may decode, once or twice, and resolve dot segments. */
function holdPath(sent: string): void {
  holds(/^[\x21-\x7e]*$/.test(sent), 'a path is not visible ASCII')
  const [path = '', query = ''] = sent.split('?')
  holds(/^\/v1\/[^/]*\/end$/.test(path), 'an argument has left its segment')
  holds(
    !sent.includes('#') && query.split('&').length === 2 && sent.split('?').length === 2,
    'an argument has left its place in the query',
  )
  for (const each of [path, decoded(path), decoded(decoded(path))]) {
    const segments = each.split(/[/\\]/).map((segment) => segment.split(/[?#]/)[0])
    holds(!segments.includes('..') && !segments.includes('.'), 'a path has a dot segment once it is decoded')
  }
}

function holdHeader(name: string, value: string): void {
  holds(!/[\0-\x08\x0a-\x1f\x7f]/.test(value), 'a header has a control character')
  if (name !== 'Cookie') return
  const pairs = value.split(';').map((pair) => pair.trim())
  holds(pairs.length === 3, 'a cookie has become another number of cookies')
  const [first, second, third] = pairs as [string, string, string]
  holds(
    first.startsWith('first=') && /^second="[^"]*"$/.test(second) && third === 'third=x',
    'a cookie has left its place',
  )
  holds(!/[,"]/.test(first.slice(6)), 'a cookie’s value has a comma or a quote')
}

/** Percent-decodes what is an escape, as latin1: dots and slashes are ASCII. */
function decoded(text: string): string {
  return text.replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}
