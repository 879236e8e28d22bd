import { compile, functionNames, type Place, parse, RenderError } from '../../../src/template/index.ts'
import { holds, type Target } from '../target.ts'

const PLACES: readonly Place[] = ['go', 'text', 'json', 'form', 'url', 'header', 'auto']
const LIMITS = { depth: 50, steps: 2_000, output: 20_000 }
const DATA = {
  Config: { base: 'http://h', key: 'k' },
  Args: {
    id: 7,
    city: '../x y"\r\n',
    list: [1, 'two', null, { a: 1 }],
    map: { k: 'v', n: 1.5 },
    big: 12345678901234567890n,
    text: 'a'.repeat(300),
    digits: '1_0.5e3',
  },
  Request: { Headers: { 'X-A': 'b' } },
}

export const template: Target = {
  name: 'template',
  about: 'templates: lexer, parser and rendering with small limits, for every place',
  tokens: [
    ...[
      '{{',
      '}}',
      '{{-',
      '-}}',
      '{{/*',
      '*/}}',
      '|',
      '.',
      '$',
      '$x',
      ':=',
      '=',
      ',',
      '(',
      ')',
      '`',
      '"',
      "'",
      '\\',
    ],
    ...'.Args.city .Args.list .Args.map .Args.text .Args.digits .Config.base $.Args .Args.missing'.split(' '),
    ...[
      '{{if .Args.id}}',
      '{{else}}',
      '{{else if 1}}',
      '{{end}}',
      '{{range .Args.list}}',
      '{{range $i, $x := .Args.list}}',
    ],
    ...[
      '{{with .Args.map}}',
      '{{define "a"}}',
      '{{template "a" .}}',
      '{{block "b" .}}',
      '{{break}}',
      '{{continue}}',
    ],
    ...`1 -1 1e9 0x1p4 1_000 'a' 1i nil true 10000000 { } ":" http://h/ ?a=`.split(' '),
    ...[
      '{{range until 100000}}',
      '(repeat 100000 "x")',
      'printf "%*d"',
      'printf "%[3]*.[2]*[1]f"',
      'regexReplaceAll "(a*)*b"',
    ],
    ...functionNames.map((name) => `${name} `),
  ],
  maxLength: 1500,
  ciRuns: 15_000,
  async start() {
    return { run }
  },
}

/** The first character chooses the place. */
function run(input: string): void {
  const place = PLACES[input.charCodeAt(0) % PLACES.length] ?? 'text'
  const source = input.slice(1)
  for (const { start, end } of parse(source).errors)
    holds(
      start >= 0 && start <= end && end <= source.length,
      'the place of an error is outside of the template',
    )
  const { template, errors } = compile(source, {
    place,
    limits: LIMITS,
    env: { HOME: '/h' },
    trusted: ['Config'],
  })
  holds(template !== undefined || errors.length > 0, 'no template and no error')
  if (!template) return
  let text: string | undefined
  try {
    text = template.render(DATA)
  } catch (error) {
    if (!(error instanceof RenderError)) throw error
    holds(
      error.start <= error.end && error.end <= source.length,
      'the place of a failure is outside of the template',
    )
    return
  }
  holds(text === undefined || text.length <= LIMITS.output, 'the output is larger than its limit')
}
