import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../src/json/index.ts'
import { functionGroups } from '../../src/template/index.ts'
import { compileAll, makeTool } from '../tools/harness.ts'
import { assertBudget, random } from './held.ts'

const MIB = 1024 * 1024

/** What a tool with this `responseBody` makes of arguments; nothing is sent. */
function rendering(responseBody: string): (args: { [name: string]: Json }) => Promise<string> {
  const endpoint = 'http://127.0.0.1/x'
  const inputSchema = { type: 'object' }
  const tool = makeTool({ endpoint, method: 'POST', inputSchema, responseBody })
  const { tools, problems } = compileAll([tool], { limits: { resultChars: 8 * MIB } })
  assert.deepEqual(problems, [])
  const answer = { status: 200, reason: 'OK', headers: {}, body: Buffer.from('{}') }
  const call = { headers: {}, body: null, signal: new AbortController().signal }
  return async (given) => {
    const { result } = await tools.get('tool')!.respond(given, call, answer)
    const [first] = result.content
    return first?.type === 'text' ? first.text : ''
  }
}

const numbers = 'float64 addf add1f subf mulf divf maxf minf floor ceil int add toDecimal atoi'.split(' ')
const digits: [string, string][] = [
  ['digits and a letter', `${'1'.repeat(4 * MIB - 200)}x`],
  ['digits with underscores', `${'1_'.repeat(2 * MIB - 200)}x`],
  ['digits, a point, digits', `${'1'.repeat(2 * MIB)}.${'1'.repeat(2 * MIB - 200)}x`],
  ['a hexadecimal float', `0x${'f'.repeat(40_000)}g`],
  ['40 kB of digits', `${'1'.repeat(40_000)}x`],
]

for (const name of numbers) {
  const source = `{{${name} .Args.v${/^(?:subf|mulf|divf)$/.test(name) ? ' 1' : ''}}}`
  test(`a long text as a number: ${source}`, async () => {
    const render = rendering(source)
    for (const [what, v] of digits) await assertBudget(`${source} of ${what}`, () => render({ v }))
  })
}

test('a text over 400 characters is not a number', async () => {
  const render = rendering('{{float64 .Args.v}}')
  assert.equal(await render({ v: `1${'0'.repeat(199)}` }), '1e+199')
  assert.equal(await render({ v: `0.${'0'.repeat(397)}1` }), '0')
  assert.equal(await render({ v: `0.5${'0'.repeat(398)}` }), '0')
})

const long: [string, Json, RegExp][] = [
  ['{{range .Args.v}}{{.}},{{end}}', Array.from({ length: 400_000 }, (_, at) => at % 10), /^0,1,2,.*8,9,$/],
  [
    '{{range $i, $e := .Args.v}}{{if $i}},{{end}}{"id":{{$e.id}},"name":"{{upper $e.name}}"}{{end}}',
    Array.from({ length: 60_000 }, (_, id) => ({ id, name: `plant ${id}` })),
    /"name":"PLANT 59999"\}$/,
  ],
  [
    '{{define "row"}}<{{.a}}>{{end}}{{range .Args.v}}{{template "row" .}}{{end}}',
    Array.from({ length: 150_000 }, () => ({ a: 1 })),
    /^(?:<1>){9}/,
  ],
  ['{{range splitList "," .Args.v}}{{.}};{{end}}', 'ab,'.repeat(100_000), /^(?:ab;){9}/],
  [
    '{{range $k, $v := .Args.v}}{{$k}}{{end}}',
    Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`k${at}`, 1])),
    /^k0k1k10k100/,
  ],
  [
    '{{$s := ""}}{{range .Args.v}}{{$s = .}}{{if eq . 7}}{{continue}}{{end}}{{end}}{{$s}}',
    Array.from({ length: 100_000 }, (_, at) => at),
    /^99999$/,
  ],
  [
    '{{range .Args.v}}{{range .}}{{.}}{{if eq . 3}}{{break}}{{end}}{{end}}{{end}}',
    Array.from({ length: 40_000 }, () => [1, 2, 3, 4]),
    /^(?:123){99}/,
  ],
]

for (const [source, v, expected] of long) {
  test(`a long rendering ends well: ${source}`, async () => {
    const render = rendering(source)
    assert.match((await render({ v })).slice(0, 10_000_000), expected)
    await assertBudget(source, () => render({ v }))
  })
}

for (const source of [
  '{{urlquery .Args.v}}',
  '{{upper .Args.v}}',
  '{{indent 2 .Args.v}}',
  '{{b64dec (b64enc .Args.v)}}',
  '{{toJSON .Args.v}}',
  '{{fromJSON (toJSON .Args.v)}}',
]) {
  test(`a text of nearly 4 MiB is not too long: ${source}`, async () => {
    const render = rendering(source)
    const v = 'a word\n'.repeat(580_000)
    const text = await render({ v })
    assert.ok(text.length >= v.length, text.slice(0, 200))
    await assertBudget(source, () => render({ v }))
  })
}

test('renderings that run at once take turns, too', async () => {
  const render = rendering('{{range .Args.v}}{{.}},{{end}}')
  const v = Array.from({ length: 50_000 }, (_, at) => at)
  const expected = await render({ v })
  await assertBudget('8 at once', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => render({ v })))
    assert.ok(all.every((text) => text === expected))
  })
})

test('a rendering that would not end is an error', async () => {
  const render = rendering('{{range .Args.v}}{{range $.Args.v}}{{range $.Args.v}}{{end}}{{end}}{{end}}')
  const v = Array.from({ length: 2000 }, () => 1)
  assert.match(await render({ v }), /more than 1000000 steps/)
  await assertBudget('rounds within rounds', () => render({ v }))
})

const hostile: [string, Json, Json?][] = [
  ['{{printf .Args.v 1 2 3}}', '%d'.repeat(MIB)],
  ['{{printf .Args.v 1 2 3}}', '%9999999d'.repeat(1000)],
  ['{{printf .Args.v 1.5}}', '%[1]999999.999999f'.repeat(1000)],
  ['{{printf .Args.v .Args.w}}', '%[1]q'.repeat(1000), '\u0001'.repeat(40_000)],
  ['{{regexReplaceAll .Args.v .Args.w "x"}}', '(a*)*b', 'a'.repeat(2 * MIB)],
  ['{{regexReplaceAll .Args.v .Args.w "x"}}', '', 'a'.repeat(2 * MIB)],
  ['{{regexReplaceAll .Args.v .Args.w "$1$1"}}', '(.)', 'a'.repeat(2 * MIB)],
  ['{{regexFindAll .Args.v .Args.w -1}}', '((a?){50}){50}', 'a'.repeat(2 * MIB)],
  ['{{regexSplit .Args.v .Args.w -1}}', 'a|', 'a'.repeat(2 * MIB)],
  ['{{toDate .Args.v .Args.w}}', '1'.repeat(16), '1'.repeat(32)],
  ['{{toDate .Args.v .Args.v}}', 'x'.repeat(2 * MIB)],
  ['{{date .Args.v 0}}', '2006-01-02'.repeat(400_000)],
  ['{{htmlDate .Args.v}}', 'x.'.repeat(2 * MIB)],
  ['{{urlParse .Args.v}}', `http://h/${'%20'.repeat(MIB)}`],
  ['{{uniq .Args.v}}', Array.from({ length: 100_000 }, (_, at) => at)],
  ['{{sortAlpha .Args.v}}', Array.from({ length: 100_000 }, (_, at) => `\u{1f600}${at}`)],
  [
    '{{toJSON .Args.v}}',
    Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`\u{1f600}${at}`, 1])),
  ],
  ['{{toJSON .Args.v}}', Array.from({ length: 60_000 }, (_, a) => ({ b: 1, a }))],
  ['{{.Args.v}}{{.Args.v}}{{.Args.v}}', Array.from({ length: 60_000 }, (_, a) => ({ b: 1, a }))],
  ['{"a": {{.Args.v}}}', `[${'1,'.repeat(MIB)}1]`],
  ['{{quote .Args.v}}', ['\u0001'.repeat(MIB)]],
  ['{{html .Args.v}}', '<'.repeat(2 * MIB)],
  ['{{urlquery .Args.v}}', '\n'.repeat(2 * MIB)],
  ['{{upper .Args.v}}', 'ä'.repeat(2 * MIB)],
  ['{{lower .Args.v}}', 'Ä'.repeat(2 * MIB)],
  ['{{snakecase .Args.v}}', 'aÄ'.repeat(MIB)],
  ['{{trimAll .Args.w .Args.v}}', 'ä'.repeat(2 * MIB), 'ä'],
  ['{{replace "" "x" .Args.v}}', 'a'.repeat(4 * MIB)],
  ['{{splitList "" .Args.v}}', 'a'.repeat(4 * MIB)],
  ['{{wrapWith 1 "-" .Args.v}}', 'a'.repeat(4 * MIB)],
  ['{{semver .Args.v}}', `1.2.3-${'a.'.repeat(2 * MIB)}`],
  ['{{semverCompare .Args.v "1.2.3"}}', '>'.repeat(4 * MIB)],
]

for (const [source, v, w = ''] of hostile) {
  test(`one call of a function: ${source}`, async () => {
    const render = rendering(source)
    await assertBudget(`${source} of ${JSON.stringify(v).slice(0, 20)}`, () => render({ v, w }))
  })
}

/** Inputs; a whole run is asked for by name: BUDGET_INPUTS=10000. */
const COUNT = Number(process.env.BUDGET_INPUTS ?? 200)

test(`${COUNT} generated calls of functions, of texts and lists up to 2 MiB`, async () => {
  const next = random(20_261_122)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!
  const functions = functionGroups.flatMap((group) => group.functions).filter(({ name }) => name !== 'fail')
  const units = [
    ...'a A 1 . _ - / % %20 %d " \\ < 😀 ( [ {} , 0x e + = $1 2006'.split(' '),
    ' ',
    '\n',
    'ä',
    'aB ',
  ]
  const value = (): Json => {
    const piece = Array.from({ length: 1 + Math.floor(next() * 4) }, () => pick(units)).join('')
    const size = Math.floor(2 * MIB * next() ** 2)
    const kind = next()
    if (kind < 0.7) return piece.repeat(Math.ceil(size / piece.length / 2)) + pick(units)
    const items = Math.min(40_000, size >> 4)
    if (kind < 0.9) return Array.from({ length: items }, (_, at) => (next() < 0.5 ? at : piece + at))
    return Object.fromEntries(Array.from({ length: items }, (_, at) => [piece + at, at]))
  }
  for (let at = 0; at < COUNT; at++) {
    const { name, params, rest } = pick(functions)
    const types = rest ? [...params, rest] : params
    const args = types.map((type) => {
      if (type === 'int') return pick(['0', '1', '-1', '80', '1000000'])
      if (type === 'float') return '0.5'
      if (type === 'bool') return 'true'
      return pick(['.Args.v', '.Args.v', '.Args.w', '"a"', '1'])
    })
    const call = [name, ...args].join(' ')
    const source = pick([
      `{{${call}}}`,
      `{{range .Args.w}}{{end}}{{$x := ${call}}}{{$x}}`,
      `{{len (print (${call}))}}`,
    ])
    let render: ReturnType<typeof rendering>
    try {
      render = rendering(source)
    } catch {
      continue
    }
    const [v, w] = [value(), value()]
    await assertBudget(`${source} (input ${at})`, () => render({ v, w }))
  }
})
