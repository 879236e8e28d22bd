import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool } from '../../src/config/model.ts'
import type { Json, JsonObject } from '../../src/json/index.ts'
import type { HttpAnswer } from '../../src/net/index.ts'
import { compilePrompts } from '../../src/tools/prompts.ts'
import { arg, compileAll, makeTool } from '../tools/harness.ts'
import { assertBudget, random } from './held.ts'

const MIB = 1024 * 1024
const call = { headers: {}, body: null, signal: new AbortController().signal }
const OK: HttpAnswer = { status: 200, reason: 'OK', headers: {}, body: Buffer.from('{}') }

/** What a tool would send, and what it makes of an answer; nothing is sent. */
function tool(parts: Partial<Tool>) {
  const { tools, problems } = compileAll([
    makeTool({ endpoint: 'http://127.0.0.1/x', method: 'POST', ...parts }),
  ])
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  const compiled = tools.get('tool')!
  return {
    request: (args: Json) => compiled.request(args, call),
    respond: (args: Json, answer: Partial<HttpAnswer>) => compiled.respond(args, call, { ...OK, ...answer }),
  }
}

const open = { type: 'object' } as JsonObject
const strings = (count: number) => Array.from({ length: count }, (_, at) => `${at}`)
const objects = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: `n${id}` }))
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

const requests: [string, Partial<Tool>, Json][] = [
  ['body arguments', { args: [arg('v', 'body')], inputSchema: open }, { v: objects(60_000) }],
  ['one long text', { args: [arg('v', 'body')] }, { v: '\n'.repeat(2 * MIB) }],
  [
    'numbers beyond doubles',
    { args: [arg('v', 'body', { type: 'array' })] },
    { v: Array.from({ length: 60_000 }, (_, at) => 2n ** 60n + BigInt(at)) },
  ],
  ['a form', { args: [arg('v', 'body', { type: 'array' })], headers: FORM }, { v: strings(100_000) }],
  ['a form of one text', { args: [arg('v', 'body')], headers: FORM }, { v: 'ä'.repeat(2 * MIB) }],
  ['a query', { args: [arg('v', 'query', { type: 'array' })] }, { v: strings(100_000) }],
  [
    'a path',
    { endpoint: 'http://127.0.0.1/{{.Args.v}}', args: [arg('v', 'path')] },
    { v: '/\n'.repeat(MIB) },
  ],
  [
    'a raw path',
    { endpoint: 'http://127.0.0.1/{{raw .Args.v}}', args: [arg('v', 'path')] },
    { v: '"a'.repeat(2 * MIB) },
  ],
  [
    'dots in a path',
    { endpoint: 'http://127.0.0.1/{{raw .Args.v}}', args: [arg('v', 'path')] },
    { v: './'.repeat(2 * MIB) },
  ],
  ['a header', { args: [arg('X-V', 'header')] }, { 'X-V': 'ä'.repeat(2 * MIB) }],
  ['parts', { args: [arg('v', 'form-data', { type: 'array' })] }, { v: strings(100_000) }],
  ['a data: URI in percent', { args: [arg('v', 'form-data')] }, { v: `data:,${'%41'.repeat(MIB)}` }],
  ['a data: URI in Base64', { args: [arg('v', 'form-data')] }, { v: `data:;base64,${'AAAA'.repeat(MIB)}` }],
  ['a file in Base64 with breaks', { args: [arg('v', 'form-data')] }, { v: { data: 'A\n'.repeat(2 * MIB) } }],
  [
    'a template of all',
    { args: [arg('v', 'body')], inputSchema: open, requestBody: '{{toJSON .Args}}' },
    { v: objects(60_000) },
  ],
  [
    'a rendered form',
    { args: [arg('v', 'body')], headers: FORM, requestBody: 'a={{.Args.v}}' },
    { v: '(ä'.repeat(MIB) },
  ],
  [
    'thousands of unknown arguments',
    { args: strings(20).map((name) => arg(`${name}${'x'.repeat(90)}`, 'body')) },
    Object.fromEntries(strings(9000).map((name) => [`${name}${'y'.repeat(80)}`, 1])),
  ],
  [
    'thousands of faults in alternatives',
    { args: [arg('v', 'form-data', { type: 'array', items: { type: 'string' } })] },
    { v: Array.from({ length: 9000 }, () => 1) },
  ],
]

for (const [name, parts, args] of requests) {
  test(`a request: ${name}`, async () => {
    const { request } = tool(parts)
    await assertBudget(name, () => request(args))
  })
}

const JSON_TYPE = { 'content-type': 'application/json' }
const text = (value: string, type = 'text/plain', status = 200): Partial<HttpAnswer> => ({
  status,
  headers: { 'content-type': type },
  body: Buffer.from(value),
})
const outputSchema = {
  type: 'array',
  items: { type: 'object', properties: { id: { type: 'integer' } } },
} as JsonObject

const answers: [string, Partial<Tool>, Partial<HttpAnswer>][] = [
  ['text of 10 MiB', {}, text('x"\n'.repeat(3 * MIB))],
  [
    'bytes that are not UTF-8',
    {},
    { headers: { 'content-type': 'text/plain' }, body: Buffer.alloc(10 * MIB, 0xff) },
  ],
  [
    'windows-1252',
    {},
    { headers: { 'content-type': 'text/plain; charset=windows-1252' }, body: Buffer.alloc(10 * MIB, 0x80) },
  ],
  [
    'latin1 in Japanese',
    {},
    { headers: { 'content-type': 'text/plain; charset=shift_jis' }, body: Buffer.alloc(4 * MIB, 0x82) },
  ],
  ['an image of 10 MiB', {}, { headers: { 'content-type': 'image/png' }, body: Buffer.alloc(10 * MIB, 1) }],
  ['other bytes', {}, { body: Buffer.alloc(10 * MIB, 1) }],
  [
    'JSON by a template',
    { responseBody: '{{range .Response.Data}}{{.id}},{{end}}' },
    text(JSON.stringify(objects(100_000)), 'application/json'),
  ],
  [
    'JSON as JSON',
    { responseBody: '{{toJSON .Response.Data}}' },
    text(JSON.stringify(objects(60_000)), 'application/json'),
  ],
  ['long text by a template', { responseBody: '{{upper .Response.Body}}' }, text('ä'.repeat(4 * MIB))],
  ['structured content', { outputSchema }, text(JSON.stringify(objects(60_000)), 'application/json')],
  [
    'structured content with faults',
    { outputSchema },
    text(JSON.stringify(strings(9000)), 'application/json'),
  ],
  ['an error of 10 MiB', {}, text('x'.repeat(10 * MIB), 'text/plain', 500)],
  ['an error with JSON', {}, text(JSON.stringify(objects(60_000)), 'application/json', 500)],
  [
    'an error with a header of 10 kB',
    {},
    { status: 302, headers: { location: `http://h/${'@/'.repeat(5000)}` } },
  ],
]

for (const [name, parts, answer] of answers) {
  test(`an answer: ${name}`, async () => {
    const { respond } = tool(parts)
    await assertBudget(name, () => respond({}, answer))
  })
}

test('credentials in an error, when the arguments are many', async () => {
  const { respond } = tool({
    headers: { Authorization: 'Bearer secret-1234' },
    args: [arg('v', 'body', { type: 'array' })],
  })
  const v = strings(100_000)
  const answer = { status: 401, headers: JSON_TYPE, body: Buffer.from('"secret-1234 is wrong"') }
  const { result } = await respond({ v }, answer)
  assert.doesNotMatch(JSON.stringify(result), /secret-1234/)
  await assertBudget('credentials', () => respond({ v }, answer))
})

test('many secret parameters of a caller', async () => {
  const { respond } = tool({ args: [arg('api_key', 'query', { type: 'array' })] })
  const api_key = strings(20_000).map((each) => `secret ${each}`)
  await assertBudget('secret parameters', () =>
    respond({ api_key }, text('x'.repeat(MIB), 'text/plain', 401)),
  )
})

test('a thousand calls in one turn', async () => {
  const { request } = tool({ args: [arg('v', 'body')] })
  await assertBudget('calls at once', () =>
    Promise.all(strings(1000).map((v) => request({ v: v.repeat(100) }))),
  )
})

test('a prompt', async () => {
  const prompt = {
    name: 'p',
    arguments: [{ name: 'v', required: false }],
    promptResponse: [
      { role: 'user', content: { type: 'text', text: '{{range splitList "," .Args.v}}{{.}};{{end}}' } },
    ],
  }
  const { prompts, problems } = compilePrompts({ prompts: [prompt] } as never, { env: {} })
  assert.deepEqual(problems, [])
  const v = 'ab,'.repeat(100_000)
  const { result } = await prompts.get('p', { v })
  assert.equal(result?.messages[0]?.content.text.length, v.length + 1)
  await assertBudget('a prompt', () => prompts.get('p', { v }))
})

test('a misspelt name among thousands', async () => {
  const named = strings(10_000).map((at) => ({
    name: at.padEnd(90, 'ab'),
    arguments: [],
    promptResponse: [],
  }))
  const { prompts } = compilePrompts({ prompts: named } as never, { env: {} })
  const { error } = await prompts.get('b'.repeat(95), {})
  assert.match(error ?? '', /^Unknown prompt/)
  await assertBudget('a misspelt name', () => prompts.get('b'.repeat(95), {}))
})

test('200 generated arguments', async () => {
  const next = random(12)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!
  const leaf = (): Json => {
    const size = Math.floor(MIB * next() ** 4)
    return pick<() => Json>([
      () => pick(['a', '"', '\u0001', 'ä', '😀', '\ud800', '%', '\r\n', '/..', ' ']).repeat(size),
      () => Array.from({ length: size >> 6 }, (_, at) => pick([at, `${at}`, null, true])),
      () => Object.fromEntries(Array.from({ length: size >> 6 }, (_, at) => [`k${at}`, at])),
      () => 10n ** 399n,
      () => next(),
    ])()
  }
  const positions = ['body', 'query', 'header', 'form-data'] as const
  const tools = positions.flatMap((position) =>
    [{}, FORM].map((headers) =>
      tool({ headers, inputSchema: open, args: ['a', 'b', 'c'].map((name) => arg(name, position)) }),
    ),
  )
  for (let at = 0; at < 200; at++) {
    const args = { a: leaf(), b: leaf(), c: leaf() }
    const { request } = pick(tools)
    await assertBudget(`generated ${at}`, () => request(args))
  }
})
