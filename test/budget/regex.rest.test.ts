import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { boundedFormat } from '../../src/config/json-schema/ajv.ts'
import { loadSchema, type SchemaName } from '../../src/config/schemas.ts'
import { TOLERATED, taken } from './held.ts'
import { literals, prefixes, pumps, SUFFIXES } from './pumps.ts'

/** Only our own text reaches these, or texts of a few characters; with the reason. */
const EXCEPTIONS: Record<string, string> = {
  [String(/\. .*$|\.$/)]: 'src/cli/completion.ts: descriptions of our own commands',
  [String(/\{\{[^{}]*:?=[^{}]*\}\}$/)]: 'src/checks/templates/node-checks.ts: sees 200 characters',
  [String(/[^\s{}|()]*$/)]: 'src/template/lex.ts: sees 200 characters',
}

type Probe = (text: string) => unknown
interface Slow {
  prefix: string
  pump: string
  suffix: string
  ms: string
}

/** Characters up to which a probe grows, and milliseconds beyond which one is looked at more closely. */
const LONGEST = 16_384
const SUSPECT = 4
const SIZES = [16, 20, 24, 28, 32, 64, 256, 1024, 4096, LONGEST]

/** The pump that takes longer than in proportion to its length, if one does. */
function slowest(probe: Probe, all: { prefixes: string[]; pumps: string[] }): Slow | undefined {
  for (const prefix of all.prefixes)
    for (const pump of all.pumps)
      for (const suffix of SUFFIXES) {
        const text = (size: number) => prefix + pump.repeat(Math.ceil(size / pump.length)) + suffix
        // Small texts first: what takes exponential time shows before it never ends.
        const size = SIZES.find((one) => timed(probe, text(one)) > SUSPECT)
        if (size === undefined) continue
        // What other work of the machine slows down is not slow each time.
        const rounds = [1, 2, 3].map(() => [size / 4, size].map((one) => least(probe, text(one))))
        // A repetition of at most 200 is steep up to 200, and linear from there on.
        const goesOn = () => size < 256 || isSteep([size, 4 * size].map((one) => least(probe, text(one))))
        if (rounds.every(isSteep) && goesOn())
          return { prefix, pump, suffix, ms: `${size}: ${rounds.join(' ')}` }
      }
  return undefined
}

/** Four times the text: linear is four times the time, square sixteen times. */
function isSteep([quarter, whole]: number[]): boolean {
  return whole! > SUSPECT / 2 && whole! > 9 * quarter!
}

function least(probe: Probe, text: string): number {
  return Math.min(...Array.from({ length: 7 }, () => timed(probe, text)))
}

function timed(probe: Probe, text: string): number {
  const begin = performance.now()
  probe(text)
  return performance.now() - begin
}

/** Finds all matches, as the calls of `replace`, `matchAll` and `split` do; the first one where that is all. */
function probeOf(regex: RegExp): Probe {
  if (!regex.global) return (text) => regex.test(text)
  return (text) => text.replace(regex, '')
}

/** Without repetition an expression looks at each character a fixed number of times. */
function repeats({ source }: RegExp): boolean {
  return /[*+{]/.test(source.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, ''))
}

test('every regular expression of src takes time linear to its text', () => {
  const slow: string[] = []
  const repeating = literals().filter(({ regex }) => repeats(regex))
  const known = new Map(repeating.map((literal) => [String(literal.regex), literal]))
  assert.ok(known.size > 400)
  for (const { place, regex } of known.values()) {
    if (EXCEPTIONS[String(regex)]) continue
    const found = slowest(probeOf(regex), { prefixes: prefixes(regex), pumps: pumps(regex) })
    if (found) slow.push(`${place} ${regex} ${JSON.stringify(found)}`)
  }
  assert.deepEqual(slow, [])
})

test('the list of exceptions names only expressions that are there', () => {
  const all = new Set(literals().map(({ regex }) => String(regex)))
  assert.deepEqual(
    Object.keys(EXCEPTIONS).filter((one) => !all.has(one)),
    [],
  )
})

test('every pattern of our own schemas takes time linear to its text', () => {
  const patterns = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { pattern } = value as { pattern?: unknown }
    if (typeof pattern === 'string') patterns.add(pattern)
    for (const member of Object.values(value)) visit(member)
  }
  for (const name of ['configuration', 'settings', 'lint'] as SchemaName[]) visit(loadSchema(name).schema)
  assert.ok(patterns.size > 5)
  for (const pattern of patterns) {
    const regex = new RegExp(pattern, 'u')
    assert.equal(
      slowest(probeOf(regex), { prefixes: prefixes(regex), pumps: pumps(regex) }),
      undefined,
      pattern,
    )
  }
})

const { fullFormats } = createRequire(import.meta.url)('ajv-formats/dist/formats.js') as {
  fullFormats: Record<string, unknown>
}
const FORMAT_PUMPS = [
  ...'a1.-:/%@[{(+#?&=\t \n9TP',
  ...[...'%20 a. a- a: :: /a {a} a, @a =a AAAA 1D 255. 0: ~0 \\( (a'.split(' '), 'AAA\n', 'é'],
]
const FORMAT_PREFIXES = [...'a: http:// http://a a@ / { [ P 2020-01-01T00:00:00. http://a:'.split(' '), '']

for (const [name, format] of Object.entries(fullFormats))
  test(`the format ${name} takes time linear to its text`, async () => {
    const bounded = boundedFormat(name, format) as unknown
    const probe = probeFormat(bounded)
    if (!probe) return
    assert.equal(slowest(probe, { prefixes: FORMAT_PREFIXES, pumps: FORMAT_PUMPS }), undefined)
    for (const pump of FORMAT_PUMPS) {
      const text = `http://${pump.repeat(4_194_304 / pump.length)}\0`
      const ms = await taken(() => probe(text))
      assert.ok(ms <= TOLERATED, `${JSON.stringify(pump)}: ${ms} ms`)
    }
  })

function probeFormat(format: unknown): Probe | undefined {
  if (format instanceof RegExp) return (text) => format.test(text)
  if (typeof format === 'function') return format as Probe
  const { type, validate } = format as { type?: string; validate?: unknown }
  return type === 'number' || validate === undefined ? undefined : probeFormat(validate)
}
