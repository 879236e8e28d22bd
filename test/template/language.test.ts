import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExactNumber } from '../../src/json/index.ts'
import {
  type CompileOptions,
  compile,
  functionGroups,
  functionNames,
  parse,
  RenderError,
  type TemplateError,
} from '../../src/template/index.ts'

function template(source: string, options: Partial<CompileOptions> = {}) {
  const compiled = compile(source, { place: 'text', ...options })
  assert.deepEqual(compiled.errors, [])
  return compiled.template!
}

function errorsOf(source: string, options: Partial<CompileOptions> = {}): TemplateError[] {
  return compile(source, { place: 'text', ...options }).errors
}

/** Template, data and what the dialect makes of them. */
const rendered: [string, unknown, string][] = [
  // JSON numbers are exact and compare with constants.
  [
    '{{.n}} {{.big}} {{.exact}} {{.e}}',
    { n: 1000000, big: 9007199254740993n, exact: new ExactNumber('0.10000000000000000001'), e: 1e21 },
    '1000000 9007199254740993 0.10000000000000000001 1e+21',
  ],
  [
    '{{eq .n 5}} {{lt .n 6}} {{gt .n 4.5}} {{eq .n 5.0}} {{ne .big 5}}',
    { n: 5, big: 9007199254740993n },
    'true true true true true',
  ],
  [
    '{{add .n 1}} {{add1 .n}} {{mul .n 2}} {{printf "%d" .n}} {{printf "%05.1f" 2}}',
    { n: 5 },
    '6 6 10 5 002.0',
  ],
  ['{{index .l .i}} {{slice .s .i}} {{range .i}}x{{end}}', { l: ['a', 'b'], s: 'abc', i: 1 }, 'b bc x'],
  ['{{toJSON .}}', { b: 9007199254740993n, a: '<' }, '{"a":"<","b":9007199254740993}'],
  ['{{(fromJSON .t).n}}', { t: '{"n": 12345678901234567890}' }, '12345678901234567890'],
  [
    '{{toQuery .}}',
    { b: [1, 'é&'], a: { x: 'y z', n: null }, c: [] },
    'a%5Bx%5D=y%20z&b%5B%5D=1&b%5B%5D=%C3%A9%26',
  ],
  [
    '{{toQuery (dict "i[]" .i "none" .none "m[" .m)}}',
    { i: [1, 2], m: [{ a: [true] }, 'x=y'] },
    'i%5B%5D=1&i%5B%5D=2&m%5B%5B0%5D%5Ba%5D%5B%5D=true&m%5B%5B1%5D=x%3Dy',
  ],
  // Missing and null print nothing, and can be followed.
  ['[{{.a}}{{.b}}{{.b.c}}{{.x.y.z}}{{print .a}}{{printf "%v%s" .a .b}}{{.a | upper}}]', { b: null }, '[]'],
  ['{{safeGet "a.1.b" .}}|{{safeGetOr "a.9.b" . "none"}}', { a: [0, { b: 'B' }] }, 'B|none'],
  // Own properties only.
  [
    '[{{.constructor}}{{.__proto__}}{{.a.toString}}{{.l.x}}{{index .a "constructor"}}{{safeGet "a.constructor.name" .}}]',
    { a: {}, l: {} },
    '[]',
  ],
  ['{{.__proto__}}', JSON.parse('{"__proto__": "own"}'), 'own'],
  ['{{(dict "__proto__" 1).__proto__}} {{hasKey (dict "__proto__" 1) "x"}}', {}, '1 false'],
  // Bytes.
  [
    '{{len .s}} {{slice .s 0 2}} {{index .s 0}} {{range $k, $v := .m}}{{$k}}{{end}}',
    { s: 'é€', m: { '😀': 1, '\uffee': 2 } },
    '5 é 195 \uffee😀',
  ],
  // Sprig.
  [
    '{{set (dict "a" 1) "b" 2 | toJson}} {{merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson}}',
    {},
    '{"a":1,"b":2} {"a":1,"b":3}',
  ],
  [
    '{{chunk 2 (list 1 2 3)}} {{uniq (list 1 1 2) | join "-"}} {{without (list 1 2) 1}} {{has 2 (list 1 2)}}',
    {},
    '[[1,2],[3]] 1-2 [2] true',
  ],
  [
    '{{until 3 | join ","}} {{untilStep 3 0 -1 | join ","}} {{seq 2 5}} {{seq 0 2 10}}',
    {},
    '0,1,2 3,2,1 2 3 4 5 0 2 4 6 8 10',
  ],
  [
    '{{round 123.5555 3}} {{floor 1.9}} {{ceil 1.1}} {{divf 1 4}} {{addf 0.1 0.2}} {{max 1 5 3}} {{min 4 2}}',
    {},
    '123.556 1 2 0.25 0.3 5 2',
  ],
  [
    '{{toDate "2006-01-02" "2024-02-29" | date "Mon, 02 Jan 2006"}} {{dateInZone "15:04 -0700" 0 "UTC"}}',
    {},
    'Thu, 29 Feb 2024 00:00 +0000',
  ],
  [
    '{{dateInZone "2006-01-02T15:04:05Z07:00" 1700000000 "Asia/Tokyo"}} {{duration 95}} {{durationRound "2h10m5s"}}',
    {},
    '2023-11-15T07:13:20+09:00 1m35s 2h',
  ],
  [
    '{{regexReplaceAll "(\\\\w+)@(\\\\w+)" "a@b c@d" "${2}-$1"}} {{regexSplit "," "a,b,c" -1 | join "|"}} {{regexFindAll "a*" "baaab" -1 | join "."}}',
    {},
    'b-a d-c a|b|c .aaa.',
  ],
  [
    '{{title "hello wORLD"}} {{snakecase "HTTPServerName"}} {{kebabcase "Bld4Floor3rd"}} {{camelcase "http_server"}} {{initials "First Try"}}',
    {},
    'Hello WORLD http_server_name bld4-floor-3rd HttpServer FT',
  ],
  [
    '{{wrap 5 "aa bb cc"}}|{{substr 0 -1 "abc"}}|{{trimAll "$" "$5$"}}|{{trimSuffix "-" "a--"}}|{{cat "a" nil 1}}',
    {},
    'aa bb\ncc|abc|5|a-|a 1',
  ],
  [
    '{{b32enc "hi"}} {{b32dec "NBUQ===="}} {{sha1sum "a"}} {{adler32sum "hello"}}',
    {},
    'NBUQ==== hi 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8 103547413',
  ],
  [
    '{{base "/a/b.txt"}} {{dir "/a/b.txt"}} {{ext "b.txt"}} {{clean "/a/../b/"}} {{urlJoin (dict "scheme" "http" "host" "h" "path" "/p")}}',
    {},
    'b.txt /a .txt /b http://h/p',
  ],
  ['{{toPrettyJson (dict "a" (list 1))}}', {}, '{\n  "a": [\n    1\n  ]\n}'],
  // nil is an empty list or map.
  ['{{len (keys nil)}}{{hasKey nil "a"}}{{merge nil (dict "a" 1)}}', {}, '0false{"a":1}'],
  // Capitals inside of words stay.
  [
    '{{camelcase "fooBar"}} {{camelcase "HTTPServer"}} {{camelcase "GO_IS_fun"}}',
    {},
    'FooBar Httpserver GoIsFun',
  ],
  // A text is read, a value that is read already stays.
  ['{{range fromJSON .a}}{{.id}}{{end}}{{len (fromJSON .none)}}', { a: '[{"id": 1}, {"id": 2}]' }, '120'],
  ['{{range fromJSON .a}}{{.id}}{{end}}', { a: [{ id: 1 }, { id: 2 }] }, '12'],
  ['{{toDate "2006-002" "2024-032" | date "2006-01-02 002"}}', {}, '2024-02-01 032'],
  ['{{toDecimal "777777777777777777777"}} {{toDecimal "-17"}}', {}, '9223372036854775807 -15'],
  [
    '{{date "2006" .t}} {{duration .t}}',
    { t: new ExactNumber('1000000000.12345678901234') },
    '2001 277777h46m40s',
  ],
  ['{{urlJoin (dict "host" "a" "path" .p)}}', { p: '/\ud800' }, '//a/%EF%BF%BD'],
]

for (const [source, data, expected] of rendered) {
  test(`dialect: ${source}`, () => assert.equal(template(source).render(data), expected))
}

test('input is never changed', () => {
  const data = { m: { a: 1 } }
  assert.equal(template('{{set .m "b" 2 | toJson}}{{unset .m "a" | toJson}}').render(data), '{"a":1,"b":2}{}')
  assert.deepEqual(data, { m: { a: 1 } })
})

test('an accessor is read only when the template reads it, and once', () => {
  let reads = 0
  const data = {
    get body() {
      reads++
      return 'B'
    },
  }
  assert.equal(template('{{if .other}}{{.body}}{{end}}').render(data), '')
  assert.equal(reads, 0)
  assert.equal(template('{{.body}}').render(data), 'B')
  assert.equal(reads, 1)
})

test('references are paths from the root', () => {
  const source =
    '{{.Args.a}}{{with .Args}}{{.b}}{{end}}{{$r := .Response}}{{$r.Data.c}}{{index .Request.Headers "X-Id"}}{{safeGet "Config.d" .}}{{define "t"}}{{.e}}{{end}}{{template "t" .Args}}{{$.Args.f}}{{range .Args.l}}{{.g}}{{end}}'
  const paths = template(source).references.map(({ path, start, end }) => [
    path.join('.'),
    source.slice(start, end),
  ])
  for (const [path, text] of [
    ['Args.a', '.Args.a'],
    ['Args.b', '.b'],
    ['Response.Data.c', '$r.Data.c'],
    ['Request.Headers.X-Id', 'index .Request.Headers "X-Id"'],
    ['Config.d', 'safeGet "Config.d" .'],
    ['Args.e', '.e'],
    ['Args.f', '$.Args.f'],
    ['Args.l', '.Args.l'],
  ]) {
    assert.ok(
      paths.some(([known, at]) => known === path && at === text),
      `${path} ${JSON.stringify(paths)}`,
    )
  }
  assert.ok(!paths.some(([path]) => path!.endsWith('.g')))
})

test('a template without data is constant', () => {
  assert.equal(template('a{{env "E"}}{{print 1}}', { env: { E: 'b' } }).constant, 'ab1')
  assert.equal(template('{{now}}').constant, undefined)
  assert.equal(template('{{.}}').constant, undefined)
})

test('a closed root knows its fields only', () => {
  const closed = template('{{.Args.x}}{{.Arg}}', { roots: { Args: true, Request: { Body: true } } })
  assert.throws(() => closed.render({ Args: {}, Arg: 1 }), { kind: 'exec', line: 1, column: 14 })
  assert.throws(
    () => template('{{.Request.Head}}', { roots: { Request: { Body: true } } }).render({}),
    RenderError,
  )
})

/** What is wrong: the source, and per error the text it points at, its message and its hint. */
const wrong: [string, [string, RegExp, RegExp][]][] = [
  [
    '{{foo}} {{if}}x{{end}} {{.a b}}',
    [
      ['foo', /function "foo" not defined/, /./],
      ['}}', /missing value for if/, /./],
      ['b', /function "b" not defined/, /begins with a dot/],
    ],
  ],
  ['{{toJsn .x}}', [['toJsn', /not defined/, /did you mean toJs[oO][nN]\?/]]],
  ['{{args.x}}', [['args', /not defined/, /did you mean \.Args\?/]]],
  ['{{if eq .a 1}}x', [['{{if eq .a 1}}', /never closed/, /\{\{end\}\}/]]],
  ['{{if .a == 1}}{{end}}', [['=', /unexpected/, /eq a b/]]],
  ['{{.a && .b}}', [['&', /unexpected/, /and a b/]]],
  ['{{.a[0]}}', [['[', /bad character/, /index \.a/]]],
  ['{{.Request.Headers.X-Id}}', [['-', /bad character/, /\(index \.Request\.Headers "X-Id"\)/]]],
  ['{{$name := 1}}{{$nam}}', [['$nam', /undefined variable/, /\$name/]]],
  ['{{upper}}', [['upper', /wrong number of args/, /upper text/]]],
  ['{{printf 5}}', [['5', /expected string/, /^$/]]],
  ['{{template "x"}}', [['{{template "x"}}', /not defined/, /define/]]],
  ['{{"a" | 5}}', [['5', /non executable/, /function/]]],
  ['{{break}}', [['{{break}}', /outside/, /range/]]],
  ['a\n{{end}}', [['{{end}}', /unexpected \{\{end\}\}/, /remove/]]],
  ['{{.a', [['{{', /unclosed action/, /\}\}/]]],
]

for (const [source, expected] of wrong) {
  test(`wrong: ${source}`, () => {
    const errors = errorsOf(source)
    assert.equal(errors.length, expected.length, JSON.stringify(errors))
    expected.forEach(([text, message, hint], at) => {
      const error = errors[at]!
      assert.equal(source.slice(error.start, error.end), text)
      assert.match(error.message, message)
      assert.match(error.hint ?? '', hint)
      const before = source.slice(0, error.start).split('\n')
      assert.equal(error.line, before.length)
      assert.equal(error.column, before.at(-1)!.length + 1)
    })
  })
}

/** Templates that would run, grow or nest without end. */
const endless: [string, unknown][] = [
  ['{{range 100000000000}}{{end}}', {}],
  ['{{range .l}}{{range $.l}}{{range $.l}}x{{end}}{{end}}{{end}}', { l: Array(1000).fill(1) }],
  ['{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}', {}],
  [
    '{{define "a"}}{{template "b" .}}{{template "b" .}}{{end}}{{define "b"}}{{range 1000}}{{template "c"}}{{end}}{{end}}{{define "c"}}{{range 1000}}x{{end}}{{end}}{{range 1000}}{{template "a" .}}{{end}}',
    {},
  ],
  ['{{$x := "ab"}}{{range 100}}{{$x = print $x $x}}{{end}}{{$x}}', {}],
  ['{{$x := list 1 2}}{{range 100}}{{$x = concat $x $x}}{{end}}{{len $x}}', {}],
  ['{{$x := list 1}}{{range 100}}{{$x = list $x $x}}{{end}}{{$x}}', {}],
  ['{{$x := list 1}}{{range 100}}{{$x = list $x $x}}{{end}}{{deepEqual $x $x}}', {}],
  ['{{$x := list 1}}{{range 100000}}{{$x = list $x}}{{end}}{{toJSON $x}}', {}],
  ['{{repeat 1000000000 "abc"}}', {}],
  ['{{printf "%1000000d%1000000d%1000000d" 1 2 3 | repeat 1000}}', {}],
  ['{{until 1000000000}}', {}],
  ['{{indent 100000000 "a\\nb"}}', {}],
  ['{{range 1000}}{{$.s}}{{end}}', { s: 'x'.repeat(1 << 20) }],
  ['{{range 1000000}}{{regexMatch "(a*)*b" $.s}}{{end}}', { s: 'a'.repeat(1000) }],
  ['{{regexMatch "((a?){500}){20}" .s}}', { s: 'a'.repeat(100) }],
]

for (const [source, data] of endless) {
  test(`ends with an error: ${source}`, () => {
    const compiled = template(source)
    assert.throws(() => compiled.render(data), RenderError)
  })
}

/** Templates that fail when they run. */
const failing: [string, unknown, RegExp][] = [
  [`{{mulf ${'1.7e300 1e-300 '.repeat(50)}}}`, {}, /more than 1500 digits/],
  [`{{divf 1e300 ${'1e-300 '.repeat(50)}}}`, {}, /more than 1500 digits/],
  ['{{mustToDate "2006-002" "2023-366"}}', {}, /not a time of this layout/],
  ['{{semverCompare .c "1.2.3"}}', { c: '1.2.3-..' }, /improper constraint/],
  ['{{semverCompare .c "1.2.3"}}', { c: '>=1.99999999999999999999.1' }, /improper constraint/],
  ['{{replace "a" .by .v}}', { v: 'a'.repeat(600_000), by: 'b'.repeat(1000) }, /a string is longer than/],
]

for (const [source, data, message] of failing)
  test(`fails: ${source.slice(0, 40)}`, () => {
    const compiled = template(source)
    assert.throws(() => compiled.render(data), { name: 'RenderError', message })
  })

test('nesting too deep is an error, in every shape', () => {
  for (const [open, close] of [
    ['{{if .x}}', '{{end}}'],
    ['{{if .x}}{{else if .y}}', '{{end}}'],
    ['{{range .x}}', '{{end}}'],
  ] as const) {
    assert.notEqual(errorsOf(open.repeat(100_000) + close.repeat(100_000)).length, 0)
  }
  assert.match(errorsOf(`{{${'('.repeat(100_000)}1${')'.repeat(100_000)}}}`)[0]!.message, /nested deeper/)
  assert.deepEqual(errorsOf(`{{${'('.repeat(400)}1${')'.repeat(400)}}}`), [])
})

test('deep data is an error, not a crash', () => {
  let deep: unknown = 1
  for (let at = 0; at < 100_000; at++) deep = [deep]
  for (const place of ['text', 'json', 'go', 'url'] as const) {
    assert.throws(() => template('http://h/{{.}}', { place }).render(deep), { kind: 'limit' })
  }
})

test('limits can be set', () => {
  assert.throws(() => template('{{range 10}}x{{end}}', { limits: { steps: 5 } }).render({}), {
    kind: 'limit',
  })
  assert.throws(() => template('{{range 10}}xx{{end}}', { limits: { output: 5 } }).render({}), {
    kind: 'limit',
  })
})

test('the tree keeps every place', () => {
  const source = 'a{{if .x}}b{{.y}}{{end}}'
  const { tree, errors } = parse(source)
  assert.deepEqual(errors, [])
  const [text, branch] = tree.root
  assert.equal(source.slice(text!.start, text!.end), 'a')
  assert.equal(source.slice(branch!.start, branch!.end), '{{if .x}}')
  assert.ok(branch?.type === 'if')
  assert.equal(source.slice(branch.pipe.start, branch.pipe.end), '.x')
})

test('every function is documented', () => {
  assert.ok(functionNames.length > 150)
  for (const { functions } of functionGroups) {
    for (const { name, usage, doc } of functions) {
      assert.ok(usage.startsWith(name))
      assert.ok(doc.length > 3, name)
    }
  }
})

test('a long template compiles, whatever it repeats', () => {
  for (const piece of [
    'a',
    '{{.a}}',
    '{{if .a}}b{{end}}',
    '{{foo}}',
    '{{"\\"}}',
    '{{/*}}',
    '{{$x := .a}}',
    ' {{- 1 -}} ',
    '\n',
  ]) {
    for (const place of ['url', 'auto'] as const) {
      const source = piece.repeat(Math.ceil((1 << 18) / piece.length))
      const { template, errors } = compile(`http://h/${source}x`, { place })
      assert.ok(template !== undefined || errors.length > 0)
    }
  }
})

test('a definition that is called with many arguments is not compiled for each of them', () => {
  for (const frame of [
    'DOTS',
    '{{if .a}}DOTS{{end}}',
    '{{range .}}{{else}}{{with .b}}{{else}}DOTS{{end}}{{end}}',
  ]) {
    const body = frame.replace('DOTS', '{{.}}'.repeat(2000))
    const calls = Array.from({ length: 2000 }, (_, at) => `{{template "t" $.Args.a${at}}}`).join('')
    const source = `http://h/{{define "t"}}${body}{{end}}${calls}`
    const { template } = compile(source, { place: 'url' })
    assert.ok(template)
    assert.ok(template.references.length < source.length, String(template.references.length))
    // What a call hands over is known nevertheless.
    assert.ok(template.references.some(({ path }) => path.join('.') === 'Args.a1999'))
  }
})
