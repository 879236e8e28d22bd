import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../../src/template/errors.ts'
import { MAP_MAKERS } from '../../src/template/funcs/define.ts'
import { compile, functionGroups, type Place, RenderError } from '../../src/template/index.ts'
import { sample } from '../support/rest.ts'

/** Maps that a template changes: whoever holds one may hold what a caller sent. */

const variable = fc.constantFrom('$a', '$b', '$c', '$d')
const source = fc.constantFrom(
  'dict',
  'dict "x" "lit"',
  'dict "base" .Config.base "x" "y"',
  'deepCopy .Config',
  'merge (dict) .Config',
  'omit .Config "z"',
  'urlParse "http://h"',
  'split "," "x,y"',
  'semver "1.2.3"',
)
/** The map itself, or one that holds it, reached in another way. */
const alias = fc
  .tuple(
    variable,
    variable,
    fc.constantFrom(
      ...['V', 'first (list V)', 'last (list W V)', 'index (list V) 0', 'get (dict "k" V) "k"', 'dict "k" V'],
      ...['index (values (dict "k" V)) 0', '(pick (dict "k" V) "k").k', 'ternary V W true', 'or V W'],
      ...[
        'coalesce nil V',
        'default V W',
        'first (first (chunk 1 (list V)))',
        '(merge (dict) (dict "k" V)).k',
      ],
      ...['dig "k" 0 (dict "k" V)', 'first (pluck "k" (dict "k" V))', 'V | set (dict) "k"', 'deepCopy V'],
      ...[
        'safeGet "k" (dict "k" V)',
        'first (reverse (list W V))',
        'merge V W',
        'set V "k" W',
        'V.k',
        'W.k.k',
      ],
    ),
  )
  .map(([v, w, form]) => form.replaceAll('V', v).replaceAll('W', w))
const change = fc
  .tuple(
    fc.constantFrom(
      ...['set V "x" $.Args.evil', 'set V "base" $.Args.evil', 'set V.k "x" $.Args.evil', 'unset V "x"'],
      ...['mergeOverwrite V $.Args.o', 'merge V $.Args.o', 'set V "k" (dict "x" $.Args.evil)'],
      ...['set V "x" (printf "{\\"p\\": \\"%s\\"}" $.Args.evil)', 'mergeOverwrite V (dict "k" $.Args.o)'],
      ...['mustMergeOverwrite V (dict "k" (list $.Args.evil))', 'mustMerge V (dict "x" (upper $.Args.evil))'],
    ),
    variable,
    fc.constantFrom(
      ...['{{$_ := @C}}', '{{if $.Args.on}}{{$_ := @C}}{{end}}', '{{range list V}}{{$_ := @D}}{{end}}'],
      ...['{{with V}}{{$_ := @D}}{{end}}', '{{range $m := list V}}{{$_ := @M}}{{end}}', '{{V = @C}}'],
      ...['{{template "change" (list V $.Args.evil)}}', '{{$_ := V | merge (dict "x" (@C))}}'],
    ),
  )
  .map(([form, v, frame]) =>
    frame
      .replace('@C', form.replaceAll('V', v))
      .replace('@D', form.replaceAll('V.', '.').replaceAll('V', '.'))
      .replace('@M', form.replaceAll('V', '$m'))
      .replaceAll('V', v),
  )
const statement = fc.oneof(
  fc.tuple(variable, source).map(([v, value]) => `{{${v} = ${value}}}`),
  fc.tuple(variable, alias).map(([v, value]) => `{{${v} = ${value}}}`),
  change,
  change,
)
const read = fc
  .tuple(variable, fc.constantFrom('V.x', 'V.base', 'V.k.x', 'index V "x"', 'get V "x"', 'V.k.k.x', 'V'))
  .map(([v, form]) => `{{${form.replaceAll('V', v)}}}`)

const START =
  '{{define "change"}}{{$_ := set (first .) "x" (last .)}}{{end}}' +
  '{{$a := dict "x" "a"}}{{$b := dict "k" $a}}{{$c := merge (dict) .Config}}{{$d := dict "x" "d" "k" (dict)}}'

/** What comes out; undefined where the template is refused, or cannot be rendered. */
function outcome(body: string, place: Place, evil: string): string | undefined {
  const { template } = compile(START + body, { place, trusted: ['Config'] })
  try {
    const Args = { evil, on: true, o: { x: evil, base: evil, k: { x: evil } } }
    return template?.render({ Args, Config: { base: 'http://h', x: 'x', k: 'k' } })
  } catch (error) {
    assert.ok(error instanceof RenderError, String(error))
    return undefined
  }
}

test('no changed map lets a caller out of its segment of a URL', () => {
  let rendered = 0
  fc.assert(
    fc.property(
      fc.array(statement, { maxLength: 6 }),
      fc.array(read, { minLength: 1, maxLength: 3 }),
      (all, reads) => {
        const out = outcome(`${all.join('')}http://h/p/${reads.join('/')}/`, 'url', '../../evil?x#y/..')
        if (out === undefined) return
        rendered++
        const { origin, pathname, search, hash } = new URL(out)
        assert.deepEqual([origin, search, hash], ['http://h', '', ''])
        // `.Config.base` is the author's, and has slashes.
        assert.equal(pathname.replaceAll('http://h', '').split('/').length, reads.length + 3, out)
      },
    ),
    { numRuns: sample(1500) },
  )
  assert.ok(rendered > sample(300), String(rendered))
})

test('no changed map lets a caller choose the host', () => {
  let rendered = 0
  fc.assert(
    fc.property(fc.array(statement, { maxLength: 6 }), read, (all, origin) => {
      const out = outcome(`${all.join('')}${origin}/p`, 'url', 'http://evil')
      if (out === undefined) return
      rendered++
      assert.doesNotMatch(out, /evil/i)
    }),
    { numRuns: sample(1500) },
  )
  assert.ok(rendered > 20, String(rendered))
})

test('no changed map lets a caller add to a JSON body', () => {
  const keys = (value: unknown): string[] =>
    typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).flatMap(([key, member]) => [key, ...keys(member)])
  let rendered = 0
  fc.assert(
    fc.property(
      fc.array(statement, { maxLength: 6 }),
      fc.array(read, { minLength: 1, maxLength: 3 }),
      (all, reads) => {
        const out = outcome(
          `${all.join('')}{"read": [${reads.join(', ')}], "in": "${reads.join('')}"}`,
          'json',
          '", "evil": "1',
        )
        if (out === undefined) return
        rendered++
        const body = JSON.parse(out)
        assert.deepEqual(Object.keys(body), ['read', 'in'])
        assert.equal(body.read.length, reads.length)
        assert.ok(!keys(body).includes('evil'), out)
      },
    ),
    { numRuns: sample(1500) },
  )
  assert.ok(rendered > 100, String(rendered))
})

test('every map that a template can change comes from a function that is known to make one', () => {
  const text = fc.constantFrom('1.2.3', 'http://h/x?y', 'a', '{"a":{"b":1}}')
  const map = fc.constantFrom({}, { a: { b: 1 } }, { host: 'h' })
  const list = fc.constantFrom([], [{ a: 1 }], ['a', 'b'])
  const number = fc.constantFrom(0n, 1n, 2n)
  const any = fc.oneof(text, map, list, number, fc.constant(null))
  const value = fc.record({
    ...{ any, value: any, string: text, int: number, float: fc.constant(1.5), bool: fc.boolean(), map, list },
  })
  // Maps that templates make have no prototype, unlike those of the input.
  const made = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    (Object.getPrototypeOf(value) === null || Object.values(value).some(made))
  const host = { go: false, max: 1000, charge() {}, missing() {} }
  const makers = new Set<string>()
  fc.assert(
    fc.property(fc.array(value, { minLength: 4, maxLength: 4 }), (values) => {
      for (const { name, params, rest, call } of functionGroups.flatMap(({ functions }) => functions)) {
        const types = rest ? [...params, rest] : params
        try {
          const args = types.map((type, at) => values[at]![type])
          if (made(call(args, host))) makers.add(name)
        } catch (error) {
          assert.ok(error instanceof Fault, name)
        }
      }
    }),
    { numRuns: sample(300) },
  )
  assert.deepEqual(
    [...makers].filter((name) => !MAP_MAKERS.has(name)),
    [],
  )
  assert.ok(makers.size > 10, String(makers.size))
})

test('variables that keep taking more of each other do not keep the compiler busy', () => {
  const names = Array.from({ length: 12 }, (_, at) => `$v${at}`)
  const declared = names.map((name) => `{{${name} := "x"}}`).join('')
  const shifted = names
    .slice(1)
    .map((name, at) => `{{$v${at} = ${name}}}`)
    .join('')
  const source = `${declared}{{range .l}}${shifted}{{$v11 = printf "%s-%s" . .}}{{end}}{"a": {{$v0}}}`
  assert.equal(compile(source, { place: 'json' }).template?.render({ l: [] }), '{"a": "x"}')
})
