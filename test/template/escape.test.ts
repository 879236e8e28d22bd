import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compile, type Place, RenderError } from '../../src/template/index.ts'
import { sample } from '../support/rest.ts'

/** Texts made of what breaks out of places. */
const nasty = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...[...'" \\ } {{ , : ../ .. . %2e%2e %2E % / ? # &'.split(' '), '\n', '\r\n'],
        ...[
          '=',
          '+',
          ' ',
          '\t',
          '\0',
          '\ud800',
          '\udc00',
          '\udcc3\udca9',
          'é',
          '😀',
          '<',
          '\u2028',
          ';',
          '@',
          ':80',
        ],
      ),
      fc.string({ maxLength: 4 }),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''))

const wellFormed = (text: string) => Buffer.from(text, 'utf8').toString('utf8')

function render(source: string, place: Place, args: object): string | undefined {
  const { template, errors } = compile(source, { place, trusted: ['Config'] })
  assert.deepEqual(errors, [])
  return template?.render({ Args: args, Config: { base: 'http://h:8080', path: 'v1' } })
}

/** What a JSON value's place makes of a text: itself when it is JSON, else a string. */
function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function isValidUtf8(text: string): void {
  assert.equal(wellFormed(text), text)
}

test('no text breaks out of a JSON body', () => {
  const source = `{{define "pair"}}"{{.}}", {{.}}{{end}}{
    "inside": "{{.Args.x}}", "value": {{.Args.x}}, "both": "a{{.Args.x}}b{{.Args.y}}", "k{{.Args.y}}": 1,
    "json": {{toJSON .Args.x}}, "jsonInside": "{{toJSON .Args.x}}", "list": [{{range $i, $e := .Args.l}}{{if $i}},{{end}}"{{$e}}"{{end}}],
    "variable": {{$v := .Args.y}}"{{$v}}", "pair": [{{template "pair" .Args.x}}], "printf": "{{printf "%s" .Args.x}}",
    "with": {{with .Args.y}}"{{.}}"{{else}}""{{end}}, "object": {{.Args.o}}, "objectInside": "{{.Args.o}}",
    "quoted": "{{printf "%q" .Args.x}}", "upper": "{{.Args.x | replace "a" .Args.y}}"
  }`
  fc.assert(
    fc.property(nasty, nasty, (x, y) => {
      const out = render(source, 'json', { x, y, l: [x, y], o: { [x]: y } })!
      isValidUtf8(out)
      const body = JSON.parse(out)
      const object = Object.fromEntries([[x, y]])
      assert.equal(body.inside, x)
      assert.deepEqual(body.value, jsonOr(x))
      assert.equal(body.both, `a${x}b${y}`)
      assert.equal(body[`k${y}`], 1)
      assert.equal(body.json, x)
      assert.equal(JSON.parse(body.jsonInside), x)
      assert.deepEqual(body.list, [x, y])
      assert.equal(body.variable, y)
      assert.deepEqual(body.pair, [x, jsonOr(x)])
      assert.equal(body.printf, x)
      assert.equal(body.with, y)
      assert.deepEqual(body.object, object)
      assert.deepEqual(JSON.parse(body.objectInside), object)
      assert.equal(
        body.upper,
        x.replaceAll('a', () => y),
      )
      assert.equal(Object.keys(body).length, 15)
    }),
    { numRuns: sample(500) },
  )
})

/** Whether the text holds `.` or `..` between slashes, decoded up to twice; judged apart from the code under test. */
function leaves(text: string): boolean {
  const decoded = (bytes: string) =>
    bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const bytes = Buffer.from(text).toString('latin1')
  return [bytes, decoded(bytes), decoded(decoded(bytes))].some((one) =>
    Buffer.from(one, 'latin1')
      .toString()
      .split(/[/\\]/)
      .some((segment) =>
        /^\.{1,2}$/.test(
          segment.replace(/[\x01-\x20\x7f-\xa0\xad\s\u200b-\u200f\u2028-\u202f\u2060\ufffd]|[;?#\0].*/gs, ''),
        ),
      ),
  )
}

test('no text breaks out of its part of a URL', () => {
  const source =
    '{{.Config.base}}/{{.Config.path}}/{{.Args.x}}/b/{{.Args.y}}{{.Args.z}}?k={{.Args.x}}&{{.Args.y}}=1{{if .Args.z}}&z={{.Args.z}}{{end}}#f{{.Args.x}}'
  fc.assert(
    fc.property(nasty, nasty, nasty, (x, y, z) => {
      const isRefused = (text: string) => text === '' || leaves(text)
      const last = wellFormed(y) + wellFormed(z)
      let out: string
      try {
        out = render(source, 'url', { x, y, z })!
      } catch (error) {
        assert.ok(error instanceof RenderError)
        assert.ok(error.kind === 'unsafe' || error.kind === 'missing')
        assert.ok(isRefused(x) || isRefused(last), JSON.stringify([x, y, z]))
        return
      }
      assert.ok(!isRefused(x) && !isRefused(last), JSON.stringify([x, y, z]))
      const url = new URL(out)
      assert.equal(url.origin, 'http://h:8080')
      assert.deepEqual(url.pathname.split('/').map(decodeURIComponent), ['', 'v1', wellFormed(x), 'b', last])
      const keys = z === '' ? ['k', wellFormed(y)] : ['k', wellFormed(y), 'z']
      assert.deepEqual([...url.searchParams.keys()], keys)
      assert.equal(url.searchParams.get('k'), wellFormed(x))
      assert.equal(decodeURIComponent(url.hash), `#f${wellFormed(x)}`)
    }),
    { numRuns: sample(1000) },
  )
})

test('no text takes segments of a path away, not even raw', () => {
  let rendered = 0
  fc.assert(
    fc.property(nasty, nasty, nasty, (x, y, z) => {
      try {
        const out = render('http://h/v1/.{{raw .Args.x}}/{{raw .Args.y}}{{raw .Args.z}}', 'url', { x, y, z })!
        rendered++
        assert.match(new URL(out).href, /^http:\/\/h\/v1\/\./)
      } catch (error) {
        assert.ok(error instanceof RenderError, String(error))
        assert.ok(error.kind === 'unsafe' || error.kind === 'missing')
      }
    }),
    { numRuns: sample(1000) },
  )
  assert.ok(rendered > sample(100))
})

test('benign text renders in every place as Go renders it', () => {
  const benign = fc
    .stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,8}$/)
    .filter((text) => !/^(?:true|false|null)$/.test(text))
  const number = fc.integer({ min: -999_999, max: 999_999 })
  const sources: [Place, string][] = [
    [
      'json',
      '{"a": "{{.Args.x}}", "n": {{.Args.n}}, "l": [{{range $i, $e := .Args.l}}{{if $i}}, {{end}}"{{$e}}"{{end}}], "j": {{toJSON .Args.l}}}',
    ],
    ['url', 'http://h/{{.Args.x}}/{{.Args.n}}?{{.Args.x}}={{.Args.n}}'],
    ['form', 'a={{.Args.x}}&n={{.Args.n}}'],
    ['header', 'Bearer {{.Args.x}} {{.Args.n}}'],
    ['text', '{{.Args.x}}: {{with .Args.n}}{{.}}{{end}} {{len .Args.x}} {{printf "%5s" .Args.x}}'],
  ]
  fc.assert(
    fc.property(benign, number, (x, n) => {
      for (const [place, source] of sources) {
        assert.equal(render(source, place, { x, n, l: [x] }), render(source, 'go', { x, n, l: [x] }))
      }
    }),
  )
})

const refusals: [Place, string, RegExp][] = [
  ['json', '{"a": "{{if .Args.x}}b"{{end}}}', /branches of \{\{if\}\} end in different contexts/],
  ['json', '{{range .Args.x}}"{{end}}', /different contexts/],
  ['url', `${'{{range .Args.x}}:'.repeat(100)}${'{{end}}'.repeat(100)}`, /too many loops inside each other/],
  ['json', String.raw`{"a": "\{{.Args.x}}"}`, /follows a backslash/],
  ['json', '{"a": "{{.Args.x}}}', /never closed/],
  ['json', '"{{range .Args.x}}{{if .}}"{{break}}{{end}}{{end}}"', /exits in a different context/],
  ...[
    '{{.Args.x}}/users',
    'http://{{.Args.x}}/users',
    'http://h:{{.Args.x}}/users',
    'http://h{{.Args.x}}',
    'http:{{.Args.x}}',
    String.raw`http:\\{{.Args.x}}/`,
    '//{{.Args.x}}/',
    'http:/\n/{{.Args.x}}/',
    '{{.Config.base}}{{.Args.x}}',
    '{{.Config.scheme}}://{{.Args.x}}/',
    '{{$h := .Args.x}}http://{{$h}}/',
    '{{with .Args}}http://{{.x}}/{{end}}',
    'http://{{range .Args.l}}{{.}}{{end}}/',
    '{{define "h"}}{{.}}{{end}}http://{{template "h" .Args.x}}/',
    '{{$h := "a"}}{{range .Args.l}}http://{{$h}}/{{$h = .}}{{end}}',
    'http://{{.Args.x | upper}}/',
    '{{raw .Args.x}}/a',
    '{{.Args.x | raw}}',
    'http://{{raw .Args.x}}/',
    '{{.Config.base}}{{raw .Args.x}}',
    'http://{{or .Args.x "h"}}/',
  ].map((source): [Place, string, RegExp] => ['url', source, /decides the scheme, host or port/]),
  ['text', '{{env .Args.x}}', /comes from a caller/],
  ['text', '{{env "NOT_SET"}}', /NOT_SET is not set/],
]

for (const [place, source, message] of refusals) {
  test(`refused in ${place}: ${source.slice(0, 100)}`, () => {
    const { errors } = compile(source, { place, trusted: ['Config'] })
    assert.ok(
      errors.some((error) => message.test(error.message)),
      JSON.stringify(errors),
    )
  })
}

const MEMBERS =
  '{ {{- $s := "" -}}{{if .Args.a}}{{$s}}"a": {{.Args.a}}{{$s = ","}}{{end}}{{if .Args.b}}{{$s}}"b": {{.Args.b}}{{end}}}'
const MIXED = '[1 {{$s := ","}}{{if .Args.s}}{{$s = .Args.s}}{{end}}{{$s}}]'

const accepted: [Place, string, object, string | undefined][] = [
  ['url', '{{.Config.base}}/users/{{.Args.x}}', { x: 'a b' }, 'http://h:8080/users/a%20b'],
  ['url', 'http://h/x{{if .Args.x}}?q={{.Args.x}}{{end}}', { x: 'a/b' }, 'http://h/x?q=a%2Fb'],
  ['url', 'http://h/x?{{range .Args.l}}t={{.}}&{{end}}', { l: ['a&', 'b'] }, 'http://h/x?t=a%26&t=b&'],
  ['url', 'http://h/{{range .Args.l}}{{.}}/{{end}}', { l: ['a', 'b/c'] }, 'http://h/a/b%2Fc/'],
  ['url', 'http://h/?q={{urlquery .Args.x}}', { x: 'a b&c' }, 'http://h/?q=a+b%26c'],
  ['url', 'http://h/{{raw .Args.x}}/y', { x: 'a/b..c/...' }, 'http://h/a/b..c/.../y'],
  ['url', 'http://h/{{raw .Args.x}}', { x: 'a?b=/../c' }, 'http://h/a?b=/../c'],
  ['url', '{{env "HOST"}}/{{.Args.x}}', { x: 1 }, 'http://env/1'],
  ['url', '{{if .Args.x}}{{.Config.base}}/a{{else}}{{.Config.base}}{{end}}/b', { x: 1 }, 'http://h:8080/a/b'],
  ['url', '{{with .Config}}{{.base}}{{end}}/a', {}, 'http://h:8080/a'],
  ['url', 'http://h/x{{with trim .Args.q}}?q={{.}}{{end}}', {}, 'http://h/x'],
  ['url', 'http://h/{{.Args.q | upper | default "all"}}', {}, 'http://h/all'],
  ['header', '{{if eq (print .Args.x) "a"}}b{{else}}c{{end}}', {}, 'c'],
  ['header', 'Bearer {{.Args.x | upper}}', {}, undefined],
  ['header', '{{.Args.x}}', {}, undefined],
  ['header', 'Bearer {{.Args.x}}', {}, undefined],
  ['header', 'Bearer {{.Args.x}}', { x: '' }, undefined],
  ['header', 'Bearer {{printf "%s" .Args.x}}', {}, undefined],
  ['header', 'Bearer {{.Args.x}}\n', { x: 't' }, 'Bearer t'],
  ['header', '{{if .Args.x}}a{{end}}', {}, undefined],
  // Only the text around its blocks is left.
  ['header', 'Bearer {{if .Args.x}}{{.Args.x}}{{end}}', {}, undefined],
  ['header', 'Bearer {{if .Args.x}}{{.Args.x}}{{end}}', { x: 't' }, 'Bearer t'],
  ['header', '{{if .Args.x}}Bearer {{.Args.x}}{{end}}', {}, undefined],
  ['header', 'token={{with .Args.x}}{{.}}{{end}}', {}, undefined],
  ['header', 'token={{with .Args.x}}{{.}}{{end}}', { x: 't' }, 'token=t'],
  ['header', '{{with .Args.x}}{{.}}{{end}}', {}, undefined],
  ['header', 'Bearer {{range .Args.l}}{{.}}{{end}}', {}, undefined],
  ['header', 'abc ', {}, 'abc '],
  ['header', 'fixed {{if .Args.x}}; more{{end}}', {}, 'fixed '],
  ['header', 'a {{if .Args.x}}fast{{end}}', { x: true }, 'a fast'],
  ['header', '{{if .Args.x}}{{.Args.x}}{{else}}none{{end}}', {}, 'none'],
  ['json', '{"a": {{.Args.x}}, "b": "{{.Args.x}}"}', {}, '{"a": null, "b": ""}'],
  ['json', '{"a": {{.Args.x}}}', { x: '{"b": [1]}' }, '{"a": {"b": [1]}}'],
  [
    'json',
    '{"a": {{printf "{\\"b\\": \\"%s\\"}" .Args.x}}}',
    { x: 'v", "c": "w' },
    '{"a": "{\\"b\\": \\"v\\", \\"c\\": \\"w\\"}"}',
  ],
  ['json', '{"a": {{printf "%q" .Args.x}}, "b": {{.Args.x | quote}}}', { x: 'v' }, '{"a": "v", "b": "v"}'],
  ['json', '{"a": {{printf "%.2f" .Args.x}}}', { x: 1.5 }, '{"a": 1.50}'],
  ['json', '{"a": {{printf "%s" .Args.x}}}', { x: '[1]' }, '{"a": [1]}'],
  ['json', '{"a": {{.Args.y | default "{}"}}}', {}, '{"a": {}}'],
  ['json', '{"a": {{.Args.x}}}', { x: 'Fern' }, '{"a": "Fern"}'],
  ['json', '{"a": "{{raw .Args.x}}"}', { x: '\\n' }, '{"a": "\\n"}'],
  // Commas of the template itself are no values, unless they follow a colon or may come from a caller.
  [
    'json',
    '[{{$c := ""}}{{range .Args.l}}{{$c}}{{toJSON .}}{{$c = ", "}}{{end}}]',
    { l: ['a', ','] },
    '["a", ","]',
  ],
  ['json', '[{{$c := ""}}{{range .Args.l}}{{$c}}{{toJSON .}}{{$c = ", "}}{{end}}]', { l: [] }, '[]'],
  ['json', MEMBERS, { a: 1, b: 'x' }, '{"a": 1,"b": "x"}'],
  ['json', MEMBERS, { b: 2 }, '{"b": 2}'],
  ['json', '[{{range $i, $e := .Args.l}}{{if $i}}{{","}}{{end}}{{$e}}{{end}}]', { l: [1, 2] }, '[1,2]'],
  ['json', '{{$s := ","}}{"by": {{","}}, "at": {{$s}}}', {}, '{"by": ",", "at": ","}'],
  ['json', MIXED, { s: ',2' }, '[1 ",2"]'],
  ['json', MIXED, { s: ',' }, '[1 ","]'],
  ['form', 'a={{.Args.x}}', {}, 'a='],
  ['form', 'a={{.Args.x}}', { x: "it's (a) *~" }, 'a=it%27s+%28a%29+*%7E'],
  [
    'text',
    '{{.Args.x}}|{{.Args.n}}|{{.Args.l}}',
    { n: null, l: [{ b: 1, a: 1e21 }] },
    '||[{"a":1e+21,"b":1}]',
  ],
  ['auto', '{"a": {{.Args.x}}}', { x: 'q"' }, '{"a": "q\\""}'],
  ['auto', '[{{.Args.x}}](http://x)', { x: 'q"' }, '[q"](http://x)'],
  ['auto', '{{if .Args.x}}{"a": {{.Args.x}}}{{else}}[]{{end}}', { x: 'q"' }, '{"a": "q\\""}'],
  ['auto', '{{if .Args.y}}{"x": 1}{{else}}none: {{.Args.x}}{{end}}', { x: 'q"' }, 'none: q"'],
  ['auto', '{{.Args.x}}', { x: 'q"' }, 'q"'],
  ['auto', '# {{.Args.x}}\n{}', { x: 'q"' }, '# q"\n{}'],
  ['auto', '{"a": 1} {{.Args.x}}', { x: 'q"' }, '{"a": 1} q"'],
]

for (const [place, source, args, expected] of accepted) {
  test(`in ${place}: ${JSON.stringify(source)}`, () => {
    const { template, errors } = compile(source, { place, trusted: ['Config'], env: { HOST: 'http://env' } })
    assert.deepEqual(errors, [])
    assert.equal(template?.render({ Args: args, Config: { base: 'http://h:8080' } }), expected)
  })
}

const failures: [string, object, RenderError['kind']][] = [
  ['http://h/{{.Args.x}}/y', { x: '..' }, 'unsafe'],
  ['http://h/{{.Args.x}}/y', { x: '.' }, 'unsafe'],
  ['http://h/{{.Args.x}}{{.Args.y}}/y', { x: '.', y: '.' }, 'unsafe'],
  ['http://h/.{{.Args.x}}', { x: '.' }, 'unsafe'],
  ['http://h/.{{.Args.x}}', { x: '' }, 'unsafe'],
  ['http://h/%2{{.Args.x}}', { x: 'e' }, 'unsafe'],
  ['http://h\\{{.Args.x}}\\y', { x: '..' }, 'unsafe'],
  ['http://h/{{raw .Args.x}}/y', { x: '..' }, 'unsafe'],
  ['http://h/{{raw .Args.x}}', { x: 'a/../b' }, 'unsafe'],
  ['http://h/{{raw .Args.x}}', { x: '../b?c' }, 'unsafe'],
  ['http://h/{{raw .Args.x}}', { x: 'a/b/%2E.' }, 'unsafe'],
  ['http://h/{{raw .Args.x}}', { x: 'a\\.\n.\\b' }, 'unsafe'],
  ['http://h/{{raw .Args.x}}{{.Args.y}}', { x: 'a/.', y: '.' }, 'unsafe'],
  ['http://h/.{{raw .Args.x}}', { x: './b' }, 'unsafe'],
  ['http://h/{{.Args.x}}', { x: '' }, 'missing'],
  ['http://h/{{.Args.x}}', {}, 'missing'],
  ['http://h/?q={{.Args.x}}', { x: null }, 'missing'],
  ['http://h/?q={{printf "%v" .Args.x}}', {}, 'missing'],
  ['{{.Config.nope}}/a', {}, 'missing'],
  ['{{.Config.bare}}/{{.Args.x}}', { x: 'evil.example' }, 'unsafe'],
]

for (const [source, args, kind] of failures) {
  test(`${kind} in a URL: ${source} with ${JSON.stringify(args)}`, () => {
    const { template, errors } = compile(source, { place: 'url', trusted: ['Config'] })
    assert.deepEqual(errors, [])
    assert.throws(() => template?.render({ Args: args, Config: { bare: 'http:/' } }), { kind })
  })
}
