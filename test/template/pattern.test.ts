import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compilePattern } from '../../src/template/index.ts'
import { sample } from '../support/rest.ts'

const free = () => {}

function matches(source: string, text: string): boolean {
  const pattern = compilePattern(source)
  if ('error' in pattern) throw new Error(`${source}: ${pattern.error}`)
  return pattern.test(text, free)
}

const atoms = fc.oneof(
  fc.constantFrom(...'ab1-_ /'),
  fc.constantFrom('.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\.', '\\/', '\\$', 'é', '😀'),
  fc.constantFrom(...'\\x61 \\u0061 \\u{1F600} \\ud83d\\ude00 \\ud83d \\cJ \\x00 \\t \\n'.split(' ')),
  fc.constantFrom('\\p{L}', '\\P{L}', '\\p{Lu}', '\\p{Script=Greek}', '\\p{Emoji}', '\\p{ASCII}'),
  fc.constantFrom(...'[ab] [^a] [a-z] [^\\d] [\\w-] [-a] [] [^] [\\b] [\\]a] [😀-😂]'.split(' ')),
  fc.constantFrom('[\\p{L}1]', '[^\\s\\S]', '[\\u0061-\\u{7a}]', '[^a\\n]', '[.]', '[\\-a]', '[$^]'),
)
const asserted = fc.constantFrom('^', '$', '\\b', '\\B')
const many = fc.constantFrom(...'* + ? *? +? ?? {2} {1,} {0,2} {1,2}? {0}'.split(' '), '', '', '')
const pattern = fc.letrec<{ choice: string; list: string; term: string }>((tie) => ({
  choice: fc.array(tie('list'), { minLength: 1, maxLength: 2 }).map((parts) => parts.join('|')),
  list: fc.array(tie('term'), { maxLength: 4 }).map((parts) => parts.join('')),
  term: fc.oneof(
    { maxDepth: 3 },
    fc.tuple(atoms, many).map((parts) => parts.join('')),
    asserted,
    fc
      .tuple(fc.constantFrom('(', '(?:'), tie('choice'), many)
      .map(([open, inner, end]) => `${open}${inner})${end}`),
  ),
})).choice
const look = fc.constantFrom('(?=.*a)', '(?!.*b)', '(?=a|$)', '(?!)', '(?![ab]*$)')
const behind = fc.constantFrom('(?<=a)', '(?<!b)', '(?<!ab|1)', '')
const text = fc
  .array(
    fc.constantFrom(
      ...'aabb1-_ \n/',
      'é',
      'Ω',
      '\u2028',
      '\u00a0',
      '😀',
      '\ud83d',
      '\ude00',
      'Z',
      '\0',
      '\b',
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

test('the linear engine finds what RegExp finds', () => {
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 3, maxLength: 6 }), (source, texts) => {
      const reference = new RegExp(source, 'u')
      // V8 looks for `\\B` inside of surrogate pairs, too.
      for (const one of texts)
        if (!(source.includes('\\B') && /[\u{10000}-\u{10ffff}]/u.test(one)))
          assert.equal(matches(source, one), reference.test(one), `/${source}/u on ${JSON.stringify(one)}`)
    }),
    { numRuns: sample(1500) },
  )
})

test('look-ahead behind a leading ^ and look-behind before a final $ match as in RegExp', () => {
  fc.assert(
    fc.property(
      fc.array(look, { maxLength: 3 }),
      atoms,
      many,
      behind,
      text,
      (looks, atom, count, end, one) => {
        const source = `^${looks.join('')}${atom}${count}${end}$`
        assert.equal(
          matches(source, one),
          new RegExp(source, 'u').test(one),
          `${source} on ${JSON.stringify(one)}`,
        )
      },
    ),
    { numRuns: sample(2000) },
  )
})

test('every code point is in the same classes as in RegExp', () => {
  for (const source of '\\s \\w \\d . [^\\S] \\p{L} \\p{Nd} \\P{Script=Han} \\p{Cs} \\p{Any}'.split(' ')) {
    const [pattern, reference] = [compilePattern(`^${source}$`), new RegExp(`^${source}$`, 'u')]
    assert.ok(!('error' in pattern))
    for (let code = 0; code <= 0x10ffff; code += code < 0x3000 ? 1 : 13) {
      const char = String.fromCodePoint(code)
      assert.equal(pattern.test(char, free), reference.test(char), `${source} and U+${code.toString(16)}`)
    }
  }
})

/** Expressions that no linear engine can run, or none that stays small, and what is said of each. */
const refused: [string, RegExp][] = [
  ['(a)\\1', /refers back/],
  ['(?<x>a)\\k<x>', /refers back/],
  ['a(?=b)', /looks ahead or behind/],
  ['(?=a)b', /looks ahead or behind/],
  ['^(?=a)b|c', /looks ahead or behind/],
  ['^(?=a(?!b))', /looks ahead or behind/],
  ['(?<=a)b', /looks ahead or behind/],
  ['(?<!a)$|b', /looks ahead or behind/],
  ['(', /unterminated group/],
  ['a{2,1}', /out of order/],
  ['\\-', /invalid escape/],
  ['(?i)a', /invalid group/],
  ['\\p{Klingon}', /invalid property name/],
  ['(?:a{1,1000}){1,1000}', /too large/],
  ['(?:(?:(?:){1000}){1000}){1000}', /too large/],
  ['(?:(?:(?:a{0}){1000}){1000}){1000}', /too large/],
  ['a{100000}', /repeats something more than/],
  ['a'.repeat(10_001), /longer than/],
  [`${'('.repeat(201)}${')'.repeat(201)}`, /nested deeper/],
  [Array.from({ length: 2400 }, (_, i) => String.fromCodePoint(0x4e00 + 2 * i)).join(''), /different sets/],
]

for (const [source, reason] of refused)
  test(`${source.slice(0, 40)} is refused`, () => {
    const made = compilePattern(source)
    assert.ok('error' in made)
    assert.match(made.error, reason)
  })
