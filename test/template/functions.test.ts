import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compile, type FunctionEntry, functionGroups, RenderError } from '../../src/template/index.ts'
import { sample } from '../support/rest.ts'

const functions = functionGroups.flatMap((group) => group.functions)

const anything = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      null,
      undefined,
      0,
      1,
      -1,
      2.5,
      1e21,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      5n,
      -(2n ** 63n),
      2n ** 70n,
      true,
      false,
    ],
    ...[...'a 5 1.2.3 -1h 2006-01-02 {"a":1} [ ( \\ a*'.split(' '), '', 'héllo 😀', '\ud800', '>=1 <2'],
    ...['%d %s %v %*d %[2]x', 'http://u:p@h:1/p?q#f', '%zz', '2222222222222222222222222222'],
  ),
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ maxLength: 6 }),
)

function call({ name, params, rest }: FunctionEntry, args: unknown[], place: 'text' | 'go'): void {
  const count = Math.max(params.length, Math.min(args.length, rest ? 6 : params.length))
  const names = Array.from({ length: count }, (_, at) => `.a${at}`)
  const { template } = compile(`{{${[name, ...names].join(' ')}}}`, { place, sprig: true })
  const data = Object.fromEntries(names.map((key, at) => [key.slice(1), args[at]]))
  try {
    template?.render(data)
  } catch (error) {
    assert.ok(error instanceof RenderError, `${name}: ${error}`)
  }
}

test('no function throws anything but an error of the template, whatever it is given', () => {
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 5 }), fc.constantFrom('text', 'go'), (args, place) => {
      for (const entry of functions) call(entry, args, place)
    }),
    { numRuns: 60 },
  )
})

/** What took time by the square of its input's length in a naive version, on texts of a million units. */
const long: [string, string][] = [
  ['{{snakecase .s}}', `a${'_'.repeat(1 << 20)}a`],
  ['{{b32dec .s}}', `${'='.repeat(1 << 20)}x`],
  ['{{int .s}}', '9'.repeat(1 << 20)],
  ['{{toDate "2006-01-02" .s}}', '2'.repeat(1 << 20)],
  ['{{toDate (trunc 200 .s) .s}}', '2'.repeat(1 << 20)],
  ['{{regexMatch .s .s}}', `${'(a)'.repeat(2500)}`],
  ['{{urlParse .s}}', 'a'.repeat(1 << 20)],
  ['{{camelcase .s}}', 'A'.repeat(1 << 20)],
  ['{{trimSuffix "b" .s | len}}', 'a'.repeat(1 << 20)],
  ['{{regexFind "(a|b|ab)*c" (trunc 1000 .s)}}', 'ab'.repeat(1 << 19)],
  ['{{wrapWith 1 "-" (trunc 500000 .s) | len}}', 'a'.repeat(1 << 20)],
  ['{{semverCompare .s "1.2.3"}}', 'a'.repeat(1 << 20)],
  ['{{b64dec .s}}', 'a'.repeat(1 << 20)],
  ['{{regexReplaceAll "a" (trunc 10000 .s) .s}}', 'a'.repeat(1 << 20)],
  ['{{regexMatch .s "a"}}', '('.repeat(1 << 20)],
]

for (const [source, s] of long) {
  test(`long input: ${source}`, () => {
    const { template } = compile(source, { place: 'text' })
    try {
      assert.equal(typeof template?.render({ s }), 'string')
    } catch (error) {
      assert.ok(error instanceof RenderError)
    }
  })
}

/** Renders with so many steps. */
function limited(source: string, data: object, steps: number): 'limit' | 'done' {
  const { template, errors } = compile(source, { place: 'text', limits: { steps } })
  assert.deepEqual(errors, [])
  try {
    template?.render(data)
    return 'done'
  } catch (error) {
    assert.ok(error instanceof RenderError)
    return error.kind === 'limit' ? 'limit' : 'done'
  }
}

const LONG = 1 << 20

test('every function charges for the texts that it is given', () => {
  const s = 'aB,-1'.repeat(LONG / 5)
  const literals = {
    int: '1',
    float: '1.5',
    bool: 'true',
    map: '(dict "a" 1)',
    list: '(list 1)',
    string: '"a"',
  }
  let checked = 0
  for (const { name, params, rest } of functions) {
    // These give an argument back, or look up a name that stands in the template.
    if (['and', 'or', 'env'].includes(name)) continue
    const types = rest ? [...params, rest] : params
    types.forEach((type, at) => {
      if (!['string', 'any', 'value'].includes(type)) return
      const args = types.map((other, index) =>
        index === at ? '.s' : ((literals as Record<string, string>)[other] ?? '"a"'),
      )
      checked++
      assert.equal(limited(`{{$x := ${name} ${args.join(' ')}}}`, { s }, LONG / 300), 'limit', name)
    })
  }
  assert.ok(checked > 150)
})

test('functions that look at each character charge more', () => {
  const slow =
    'split . ","|b32enc|b32dec|camelcase|swapcase|untitle|quote|title|snakecase|kebabcase|nospace|urlquery|' +
    'initials|adler32sum|html|js|printf "%q"|printf "%x"|trimAll "z"|fromJSON|urlParse|clean|b64dec'
  for (const call of slow.split('|')) {
    const source = call.includes(' . ') ? `{{$x := split "," .s}}` : `{{$x := .s | ${call}}}`
    assert.equal(limited(source, { s: 'aB '.repeat(LONG / 3) }, LONG / 80), 'limit', call)
  }
})

test('what is made of lists and maps is charged', () => {
  const o = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`k${at}`, 'x'.repeat(100)]))
  for (const call of [
    'toJSON .o',
    'toRawJson .o',
    'toPrettyJson .o',
    'print .o',
    'printf "%v" .o',
    'quote .o',
  ]) {
    assert.equal(limited(`{{$x := ${call}}}`, { o }, 1000), 'limit', call)
  }
  const twice = { a: ['y'.repeat(LONG)], b: ['y'.repeat(LONG)] }
  assert.equal(limited('{{$x := deepEqual .a .b}}', twice, 4000), 'limit')
  assert.equal(limited('{{$x := sortAlpha (concat .a .b)}}', twice, 4000), 'limit')
})

test('an expression that reads nothing for long is charged', () => {
  const source = `{{regexMatch "(${'\\\\b|'.repeat(1000)}a)x" .s}}`
  assert.equal(limited(source, { s: ' '.repeat(100) }, 20_000), 'limit')
})

test('dates are charged more than once for each call', () => {
  assert.equal(limited('{{range 100}}{{$x := now | htmlDate}}{{end}}', {}, 1500), 'limit')
})

test('no call gives steps back', () => {
  assert.equal(limited('{{range 50}}{{$x := randAlpha -1000}}{{end}}', {}, 100), 'limit')
})

test('a map that was emptied is empty', () => {
  const { template } = compile(
    '{{$d := dict "a" 1}}{{if $d}}full{{end}}{{$_ := unset $d "a"}}{{if $d}}full{{else}} empty{{end}}',
    { place: 'text' },
  )
  assert.equal(template?.render({}), 'full empty')
})

test('a long text is replaced as a short one is', () => {
  const line = fc.constantFrom('', 'a', '\n', '😀', 'x'.repeat(1000), 'y'.repeat(4095), 'z'.repeat(4096))
  const { template } = compile('{{indent 2 .v}}|{{replace "a" "" .v}}|{{replace "\\n\\n" "|" .v}}', {
    place: 'text',
  })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), fc.boolean(), (lines, ends) => {
      const v = lines.join('\n') + (ends ? '\n' : '')
      const indented = `  ${v.split('\n').join('\n  ')}`
      const expected = [indented, v.split('a').join(''), v.split('\n\n').join('|')].join('|')
      assert.equal(template?.render({ v }), expected)
    }),
  )
})

test('the regular expressions find what those of JavaScript find, where both have the syntax', () => {
  const atom = fc.constantFrom(...'a b . [ab] [^a] \\d \\w \\b ^ $ (a|b) (?:ab) (b) 1'.split(' '))
  const pattern = fc
    .array(fc.tuple(atom, fc.constantFrom('', '', '*', '+', '?', '*?', '+?', '{1,2}')), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.map(([one, many]) => (/^[\^$]$|\\b/.test(one) ? one : one + many)).join(''))
  const text = fc
    .array(fc.constantFrom('a', 'b', '1', ' ', '\n', 'é'), { maxLength: 8 })
    .map((parts) => parts.join(''))
  const find = compile('{{regexMatch .p .s}} {{regexFind .p .s}}', { place: 'text' }).template!
  fc.assert(
    fc.property(pattern, text, (p, s) => {
      const found = new RegExp(p, 'u').exec(s)
      assert.equal(find.render({ p, s }), `${found !== null} ${found?.[0] ?? ''}`)
    }),
    { numRuns: sample(2000) },
  )
})

/** Constraint, version and whether it fits. */
const versions: [string, string, boolean][] = [
  ['>=1.2.0', '1.3.0', true],
  ['^1.2.3', '2.0.0', false],
  ['~1.2', '1.2.9', true],
  ['1.x', '1.9.0', true],
  ['>1.2, <2 || ^3', '3.1.0', true],
  ['1.2 - 1.4', '1.4.9', true],
  ['*', '1.0.0', true],
  ['>=1.0.0', '1.1.0-beta', false],
  ['>=1.0.0-0', '1.1.0-beta', true],
  ['!=1.2.3', '1.2.3', false],
]

for (const [constraint, version, expected] of versions) {
  test(`${version} ${expected ? 'fits' : 'does not fit'} ${constraint}`, () => {
    const { template } = compile('{{semverCompare .c .v}}', { place: 'text' })
    assert.equal(template?.render({ c: constraint, v: version }), String(expected))
  })
}
