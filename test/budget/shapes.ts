import type { Script } from '../support/scripted.ts'
import { MODERN_META, modernHeaders } from '../support/served.ts'

/** Something that is sent to the gateway, or that it gets from upstream, as large as it may be. */
export interface Shape {
  name: string
  /** With the prefix of the gateway that it is sent to. */
  path: string
  method?: string
  body?: string
  headers?: Record<string, string>
  /** Whether it goes into a session of 2025-11-25 that is open already. */
  session?: boolean
  /** What the upstream says to it. */
  script?: Script
  /** The media type of what an HTTP API says. */
  type?: string
}

/** Just below maxRequestSize (4 MiB), with room for what stands around. */
export const LARGE = 4 * 1024 * 1024 - 2048
export const PREFIXES = ['http', 'stdio', 'streamable', 'sse', 'several', 'stdio-modern', 'streamable-modern']

const fill = (part: string, size = LARGE) => part.repeat(Math.floor(size / part.length))
const list = (item: (i: number) => string, size = LARGE): string => {
  const items: string[] = []
  for (let i = 0, length = 0; length < size - 100; i++) {
    const text = item(i)
    length += text.length + 1
    items.push(text)
  }
  return items.join()
}
const deep = (size = LARGE) => '['.repeat(size >> 1) + ']'.repeat(size >> 1)

/** JSON values of `size` characters that are dear to read, check or write. */
const MAKERS: Record<string, (size: number) => string> = {
  'nested arrays': deep,
  'nested objects': (size) => `${'{"a":'.repeat(Math.floor(size / 6))}1${'}'.repeat(Math.floor(size / 6))}`,
  'nesting of 100, often': (size) => `[${list(() => deep(200), size)}]`,
  'brackets that do not close': (size) => '['.repeat(size),
  'one long integer': (size) => fill('7', size),
  'one long fraction': (size) => `0.${fill('7', size - 2)}`,
  'one long exponent': (size) => `1e${fill('7', size - 2)}`,
  'integers of 400 digits': (size) => `[${list(() => fill('7', 400), size)}]`,
  'numbers of 17 digits': (size) =>
    `[${list((i) => `${0.1 + i / 1e6}12345`.slice(0, 18).padEnd(18, '3'), size)}]`,
  'integers beyond 2^53': (size) => `[${list((i) => `90071992547409${1000 + (i % 9000)}`, size)}]`,
  'numbers with a zero at the end': (size) => `[${list((i) => `${i % 9}.10`, size)}]`,
  'small numbers': (size) => `[${list(() => '0', size)}]`,
  'one exact number, small ones': (size) => `[12345678901234567890,${list(() => '0', size)}]`,
  'empty objects': (size) => `[${list(() => '{}', size)}]`,
  'objects of one key': (size) => `[${list(() => '{"a":0}', size)}]`,
  'different keys': (size) => `{${list((i) => `"k${i}":0`, size)}}`,
  'the same key': (size) => `{${list(() => '"k":0', size)}}`,
  'keys that are indexes': (size) => `{${list((i) => `"${(i * 7919) % 4e9}":0`, size)}}`,
  'empty texts': (size) => `[${list(() => '""', size)}]`,
  'one long text': (size) => `"${fill('a', size - 2)}"`,
  'a text of escapes': (size) => `"${fill('\\u0000', size - 2)}"`,
  'a text of backslashes': (size) => `"${fill('\\\\', size - 2)}"`,
  'a text of spaces': (size) => `"x${fill(' ', size - 4)}x"`,
  'a text of digits': (size) => `"${fill('1', size - 2)}"`,
  'a text of digits and lines': (size) => `"${fill('1_', size - 2)}"`,
  'a text of emoji': (size) => `"${fill('😀', (size - 2) >> 1)}"`,
  'white space': (size) => `${fill(' \n', size - 2)}0`,
  'a path of dots': (size) => `"${fill('../', size - 2)}"`,
  'a text of escapes of URLs': (size) => `"${fill('%252e', size - 2)}"`,
  'a data URI': (size) => `"data:image/png;base64,${fill('iVBORw0KGgo', size - 30)}"`,
  'an email': (size) => `"${fill('a.', size - 20)}@example.com"`,
  'a URL': (size) => `"http://${fill('a', size - 20)}"`,
  'a URL of colons': (size) => `"http://${fill('a:', size - 20)}"`,
  'digits and a letter': (size) => `"${fill('1', size - 3)}x"`,
  'a date': (size) => `"2026-01-01T00:00:00.${fill('0', size - 30)}Z"`,
}

/** Those that were made, as they serve many shapes. */
const made = new Map<string, string>()

/** JSON of about `size` characters, by the name of a maker. */
function large(name: string, size: number): string {
  const key = `${name} ${size}`
  const known = made.get(key) ?? MAKERS[name]!(size)
  made.set(key, known)
  return known
}

const message = (method: string, params: string, id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${params}}}`

/** What any prefix is sent. */
function toPrefix(prefix: string): Shape[] {
  const path = `/${prefix}/mcp`
  const tool = prefix === 'several' ? 'one__echo' : 'echo'
  const shapes: Shape[] = []
  const both = (name: string, method: string, params: string, about?: string) => {
    shapes.push({ name: `${prefix}: ${name}`, path, body: message(method, params), session: true })
    const headers = modernHeaders(method, about)
    shapes.push({
      name: `${prefix}: ${name} (2026-07-28)`,
      path,
      body: message(method, `${params},${MODERN_META}`),
      headers,
    })
  }
  for (const name of Object.keys(MAKERS))
    both(
      `arguments: ${name}`,
      'tools/call',
      `"name":"${tool}","arguments":{"a":${large(name, LARGE - 300)}}`,
      tool,
    )
  const text = JSON.stringify('a'.repeat(LARGE - 500))
  both('a long tool name', 'tools/call', `"name":${text}`)
  both('a long URI', 'resources/read', `"uri":${text}`)
  both('a long prompt name', 'prompts/get', `"name":${text}`)
  both('a long cursor', 'tools/list', `"cursor":${text}`)
  both('a long level', 'logging/setLevel', `"level":${text}`)
  both('a long requestState', 'tools/call', `"name":"${tool}","requestState":${text}`, tool)
  both(
    'many input responses',
    'tools/call',
    `"name":"${tool}","inputResponses":${large('different keys', LARGE - 500)}`,
    tool,
  )
  both(
    'many unknown arguments',
    'tools/call',
    `"name":"${tool}","arguments":${large('different keys', LARGE - 500)}`,
    tool,
  )
  both(
    'many subscriptions',
    'subscriptions/listen',
    `"notifications":{"resourceSubscriptions":[${list((i) => `"a:${i}"`, LARGE - 500)}]}`,
  )
  both(
    'a long completion',
    'completion/complete',
    `"ref":{"type":"ref/prompt","name":${text}},"argument":{"name":"a","value":"b"}`,
  )
  const whole = (name: string, body: string) =>
    shapes.push({ name: `${prefix}: ${name}`, path, body, session: true })
  whole('a long method', message('a'.repeat(LARGE - 200), ''))
  whole('a long id', message('ping', '', text))
  whole('an integer of 4 million digits as id', message('ping', '', '7'.repeat(LARGE - 200)))
  whole('a batch of zeros', large('small numbers', LARGE))
  whole(
    'a batch of 100 large ones',
    `[${Array(100)
      .fill(message('ping', `"x":"${'a'.repeat(41_000)}"`))
      .join()}]`,
  )
  whole(
    'many keys of a message',
    `{"jsonrpc":"2.0","id":1,"method":"ping",${large('different keys', LARGE - 200).slice(1)}`,
  )
  whole('a large response', `{"jsonrpc":"2.0","id":1,"result":${large('different keys', LARGE - 200)}}`)
  whole(
    'a large notification',
    `{"jsonrpc":"2.0","method":"notifications/x","params":${large('objects of one key', LARGE - 200).replace('[', '{"a":[')}}}`,
  )
  whole(
    'initialize with a long version',
    message(
      'initialize',
      `"protocolVersion":${text},"capabilities":{},"clientInfo":{"name":"a","version":"1"}`,
    ),
  )
  return shapes
}

/** Headers, as long as Node lets them be. */
function headers(): Shape[] {
  const body = message('ping', '')
  const values: Record<string, string> = {
    spaces: `a${' '.repeat(14_000)}b`,
    semicolons: `a${' ;'.repeat(7000)}b`,
    commas: ','.repeat(14_000),
    weights: '*/*;q=0,'.repeat(1750),
    equals: 'a=b; '.repeat(2800),
    quotes: '"'.repeat(14_000),
    escapes: '%25'.repeat(4500),
    base64: `=?base64?${'A'.repeat(14_000)}?=`,
  }
  const names = (
    'accept content-type cookie origin mcp-session-id mcp-protocol-version mcp-name mcp-method ' +
    'mcp-param-a last-event-id authorization forwarded x-forwarded-for traceparent ' +
    'access-control-request-headers host content-encoding baggage'
  ).split(' ')
  const shapes = names.flatMap((name) =>
    Object.entries(values).map(
      ([what, value]): Shape => ({
        name: `header ${name}: ${what}`,
        path: '/http/mcp',
        body,
        headers: { [name]: value },
      }),
    ),
  )
  for (const [what, value] of Object.entries(values)) {
    const query = encodeURI(value).slice(0, 14_000)
    shapes.push({ name: `query: ${what}`, path: `/http/message?sessionId=${query}`, body })
    shapes.push({ name: `path: ${what}`, path: `/${query}`, method: 'GET' })
  }
  for (const part of ['/', '/..', '/.', '//a', '/%2e%2e'])
    shapes.push({ name: `path of ${part}`, path: `/http${part.repeat(14_000 / part.length)}`, method: 'GET' })
  return shapes
}

/** The tools of the prefix `/http` with arguments that are dear to them. */
function toTools(): Shape[] {
  const call = (tool: string, what: string, value: string): Shape => ({
    name: `tool ${tool}: ${what}`,
    path: '/http/mcp',
    body: message('tools/call', `"name":"${tool}","arguments":{"a":${value}}`),
    session: true,
  })
  const of = (name: string, size = LARGE - 300) => large(name, size)
  const shapes: Shape[] = []
  for (const name of [
    'objects of one key',
    'empty objects',
    'small numbers',
    'empty texts',
    'numbers of 17 digits',
    'nesting of 100, often',
  ])
    shapes.push(call('unique', name, of(name)))
  shapes.push(
    call('unique', '16,000 objects', `[${Array.from({ length: 16_000 }, (_, i) => `{"i":${i}}`).join()}]`),
  )
  shapes.push(call('unique', 'different objects', `[${list((i) => `{"i":${i}}`, LARGE - 300)}]`))
  shapes.push(call('unique', 'different texts', `[${list((i) => `"${i}"`, LARGE - 300)}]`))
  shapes.push(call('unique', 'different numbers', `[${list((i) => `${i}`, LARGE - 300)}]`))
  shapes.push(call('unique', 'lists in lists', `[${list((i) => `[[${i}]]`, LARGE - 300)}]`))
  for (const tool of ['words', 'digits', 'trailing', 'alternatives', 'bounded', 'unicode', 'names'])
    for (const [what, value] of [
      ['28 characters', JSON.stringify(`${'a'.repeat(27)}!`)],
      ['200 digits', JSON.stringify('1'.repeat(200))],
      ['8 kB of spaces', JSON.stringify(`${' '.repeat(8000)}x`)],
      ['a long text', of('one long text')],
      ['a text of digits', of('a text of digits')],
      ['a text of spaces', of('a text of spaces')],
      ['a text of emoji', of('a text of emoji')],
    ] as const)
      shapes.push(call(tool, what, value))
  for (const format of FORMATS)
    for (const name of [
      'a text of digits',
      'one long text',
      'an email',
      'a URL',
      'a URL of colons',
      'a date',
      'a path of dots',
    ])
      for (const size of [32_000, LARGE - 300])
        shapes.push(call(`format-${format}`, `${name}, ${size}`, of(name, size)))
  for (const tool of 'float64 addf round int add date semver printf regex words-of split json trim'.split(
    ' ',
  ))
    for (const name of [
      'a text of digits',
      'digits and a letter',
      'a text of digits and lines',
      'one long text',
      'a text of spaces',
      'a date',
    ])
      for (const size of [40_000, LARGE - 300]) shapes.push(call(tool, `${name}, ${size}`, of(name, size)))
  shapes.push(
    call('format', 'widths', JSON.stringify('%9999d'.repeat(100_000))),
    call('format', 'verbs', JSON.stringify('%v'.repeat(1_000_000))),
  )
  shapes.push(
    call('pattern-of', 'classes', JSON.stringify('[a-z]{1000}'.repeat(1000))),
    call('pattern-of', 'groups', JSON.stringify('(a|b)*'.repeat(100_000))),
  )
  for (const tool of ['range', 'range-nested', 'range-map', 'sort'])
    for (const name of ['small numbers', 'empty texts', 'objects of one key', 'different keys'])
      shapes.push(call(tool, name, of(name)))
  for (const position of ['path', 'query', 'header', 'body', 'form-data', 'cookie', 'template'])
    for (const name of [
      'one long text',
      'a path of dots',
      'a text of escapes of URLs',
      'a data URI',
      'a text of emoji',
      'objects of one key',
      'numbers of 17 digits',
    ])
      shapes.push(call(`in-${position}`, name, of(name)))
  return shapes
}

/** Formats of JSON Schema that ajv-formats knows. */
export const FORMATS = [
  ...'date time date-time iso-time iso-date-time duration uri uri-reference uri-template url'.split(' '),
  ...['email', 'hostname', 'ipv4', 'ipv6', 'regex', 'uuid', 'json-pointer', 'json-pointer-uri-fragment'],
  ...['relative-json-pointer', 'byte', 'binary', 'password', 'int32', 'int64', 'float', 'double'],
]

/** Those that once held the loop for seconds: they are part of every run. */
export const KNOWN = new RegExp(
  [
    'header accept: (spaces|semicolons)',
    'plants: a list',
    'tool unique: (16,000|different)',
    'tool (words|alternatives): 28',
    'tool digits: 200',
    'tool trailing: 8 kB',
    'tool format-(url|email|date-time|uri|hostname|regex): .*, 32000',
    'tool (float64|addf|round|printf|regex|words-of): (a text of digits|digits and).*, 40000',
    'tool (range|range-nested|range-map): ',
    'tool pattern-of',
    '(http|stdio|several|streamable): (arguments: (nested arrays|one long|brackets|numbers of 17)|an integer)',
    '(stdio|several): a (result|batch) of the server: (nested arrays|one long integer|numbers of 17)',
  ].join('|'),
)

/** What servers and APIs answer with; `size` is that of the value in it. */
function fromUpstream(): Shape[] {
  const shapes: Shape[] = []
  for (const name of Object.keys(MAKERS)) {
    const value = large(name, LARGE)
    const result = (id: string) =>
      `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[],"structuredContent":{"a":${value}}}}`
    const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${value}}}`
    const end = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[]}}`
    const scripts: [string, Script][] = [
      ['a result', (id) => [result(id)]],
      ['a batch', (id) => [`[${note}]`, end(id)]],
      ['a notification', (id) => [note, end(id)]],
      [
        'a question',
        (id) => [
          `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"a":${value}}}`,
          end(id),
        ],
      ],
    ]
    for (const prefix of PREFIXES.slice(1)) {
      const tool = prefix === 'several' ? 'one__say' : 'say'
      for (const [kind, script] of scripts) {
        const call = message('tools/call', `"name":"${tool}","arguments":{"key":"shape"}`)
        const modern = message('tools/call', `"name":"${tool}","arguments":{"key":"shape"},${MODERN_META}`)
        const what = `${prefix}: ${kind} of the server: ${name}`
        shapes.push({ name: what, path: `/${prefix}/mcp`, body: call, session: true, script })
        shapes.push({
          name: `${what} (2026-07-28)`,
          path: `/${prefix}/mcp`,
          body: modern,
          headers: modernHeaders('tools/call', tool),
          script,
        })
      }
    }
    for (const tool of ['says', 'says-shaped', 'says-output'])
      for (const type of ['application/json', 'text/plain'])
        shapes.push({
          name: `tool ${tool}: ${name} as ${type}`,
          path: '/http/mcp',
          body: message('tools/call', `"name":"${tool}","arguments":{}`),
          session: true,
          script: () => [value],
          type,
        })
  }
  return shapes
}

export const PLANTS_TOKEN = 'the-token-of-the-plants-of-the-budget'

/** The plant store, whose bodies are 1 MiB at the most. */
function toPlants(): Shape[] {
  const headers = { authorization: `Bearer ${PLANTS_TOKEN}` }
  const size = 1024 * 1024 - 100
  const bodies = Object.keys(MAKERS).map(
    (name): Shape => ({
      name: `plants: ${name}`,
      path: '/plants',
      headers,
      body: `{"id":1,"name":${large(name, size)}}`,
    }),
  )
  const id = `{"name":"x","id":${'7'.repeat(size)}}`
  return [
    { name: 'plants: a list of 100,000', path: '/plants', method: 'GET', headers },
    { name: 'plants: an id of a million digits', path: '/plants', headers, body: id },
    {
      name: 'plants: a long id in the path',
      path: `/plants/${'7'.repeat(14_000)}`,
      method: 'DELETE',
      headers,
    },
    ...bodies,
  ]
}

/** Makes them one after the other: all at once are gigabytes. */
export function* shapes(): Generator<Shape> {
  yield* headers()
  yield* toPlants()
  yield* toTools()
  for (const prefix of PREFIXES) yield* toPrefix(prefix)
  yield* fromUpstream()
}
