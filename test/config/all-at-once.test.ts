import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { checkTogether, readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'
import { HttpClient } from '../../src/net/index.ts'
import { compileTools } from '../../src/tools/index.ts'
import { sample } from '../support/rest.ts'

const env = { SET: 'set' }
const http = new HttpClient()

function findingsOf(text: string) {
  const read = readConfiguration({ file: 'a.yaml', text }, env)
  const findings = [...read.findings, ...checkTogether([read]), ...lintTemplates(read, env)]
  return { read, findings, told: findings.map(({ code, message }) => `${code}: ${message}`) }
}

type Path = (string | number)[]

/** Every path below the top of a value. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  const below = path.length > 0 ? [path] : []
  if (typeof value !== 'object' || value === null) return below
  const keys = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value)
  return [...below, ...keys.flatMap((key) => pathsOf(value[key as never], [...path, key]))]
}

/** The value with what is at the path replaced, or left out. */
function changed(value: unknown, path: Path, next: unknown): unknown {
  const copy = structuredClone(value)
  let at = copy as Record<string | number, unknown>
  for (const key of path.slice(0, -1)) at = at[key] as typeof at
  if (next === undefined) delete at[path.at(-1)!]
  else at[path.at(-1)!] = next
  return copy
}

/** What may be said of a single value of a wrong type or form, and of one that is missing. */
const OF_VALUES =
  /^(?:wrong-type|invalid-value|unsupported-auth|unknown-method|invalid-default|invalid-schema|missing-key|template-object)$/
/** These hold anything, or say by themselves what they mean. */
const FREE = /^(?:meta|x-.*|default|const|examples|enum|additionalProperties)$/

const NO_KEYS_OF_OURS = ['config', 'headers', 'properties']

describe('one faulty value is one finding, and nothing follows from it', () => {
  for (const name of ['plants', 'shop']) {
    const text = readFileSync(new URL(`../../examples/configs/${name}.yaml`, import.meta.url), 'utf8')
    const value = parse(text)
    for (const path of pathsOf(value)) {
      if (path.some((key) => FREE.test(String(key)) || key === 'inputSchema' || key === 'outputSchema'))
        continue
      test(`${name} ${path.join('.')}`, () => {
        const here = path.reduce((at, key) => at[key], value)
        for (const wrong of Array.isArray(here) ? [{ a: { b: [1] } }] : [[[1]], 'no such value']) {
          // A text may be what is wanted.
          if (typeof wrong !== 'object' && typeof here === 'string') continue
          const { read, findings, told } = findingsOf(JSON.stringify(changed(value, path, wrong)))
          const codes = findings.map(({ code }) => code)
          assert.ok(read.configuration)
          assert.ok(codes.length > 0)
          const follows = codes.filter((code) => !OF_VALUES.test(code))
          assert.deepEqual(follows, [], told.join('\n'))
        }
      })
      const key = path.at(-1)!
      if (typeof key === 'number' || NO_KEYS_OF_OURS.includes(String(path.at(-2)))) continue
      test(`${name} ${path.join('.')}, missing`, () => {
        const { read, findings, told } = findingsOf(JSON.stringify(changed(value, path, undefined)))
        assert.ok(read.configuration)
        const codes = findings.map(({ code }) => code)
        // What may be left out may be missed elsewhere.
        if (codes.includes('missing-key')) assert.deepEqual(codes, ['missing-key'], told.join('\n'))
      })
      test(`${name} ${path.join('.')}, misspelt`, () => {
        const here = path.reduce((at, each) => at[each], value)
        const without = changed(value, path, undefined)
        const { read, findings, told } = findingsOf(
          JSON.stringify(changed(without, [...path.slice(0, -1), `${key}x`], here)),
        )
        assert.ok(read.configuration)
        assert.deepEqual(
          findings.map(({ code }) => code),
          ['unknown-key'],
          told.join('\n'),
        )
      })
    }
  }
})

test('places are right where an item before was left out and a key is misspelt', () => {
  const text =
    'name: a\nrouters: [text, {server: a, prefix: /a}]\nservers: [1, {name: a, alowedTools: [b, [], c]}]\ntools: [2, {name: b, endpoint: e}]'
  const { read, findings } = findingsOf(text)
  assert.deepEqual(
    findings.filter(({ range }) => !range),
    [],
  )
  const { configuration, locate, isRepaired } = read
  assert.deepEqual(configuration?.servers[1]?.allowedTools, ['b', 'c'])
  const at = (path: Path) => {
    const range = locate(path)
    return range && text.slice(range.start.offset, range.end.offset)
  }
  assert.equal(configuration?.tools.length, 1)
  assert.equal(at(['tools', 0, 'name']), 'b')
  assert.equal(at(['servers', 1, 'allowedTools', 1]), 'c')
  assert.equal(at(['routers', 0, 'prefix']), '/a')
  assert.ok(
    isRepaired(['servers', 1, 'allowedTools']) && isRepaired(['tools']) && !isRepaired(['tools', 0, 'name']),
  )
})

test('an entry whose name cannot be read may be the one that is meant', () => {
  const { told } = findingsOf(
    'name: a\nrouters: [{server: b, prefix: /a}]\nservers: [{name: [b], allowedTools: [t]}]\ntools: [{endpoint: http://localhost}]',
  )
  assert.deepEqual(told, [
    'wrong-type: `name` must be a string; got an array',
    'missing-key: a tool requires `name`',
  ])
})

test('references and templates are looked at although a value is faulty', () => {
  const { findings } = findingsOf(`name: a
routers:
  - {server: b, prefix: /a, auth: {type: oauth2}, cors: {allowOrigins: "*"}}
servers:
  - {name: a, allowedTools: [x], limits: {timeout: soon, maxResponseSize: big}}
tools:
  - {name: t, method: [GET], endpoint: "http://localhost/{{.Args.id}}"}
`)
  assert.deepEqual(
    findings.map(({ code }) => code).sort(),
    (
      'dangling-server dangling-tool invalid-value invalid-value template-argument unsupported-auth ' +
      'wrong-type wrong-type'
    ).split(' '),
  )
})

test('several faulty values at once: later stages can look at what is left, and find places', () => {
  const file = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
  const shop = parse(file('../../examples/configs/shop.yaml'))
  const junk = fc.constantFrom<unknown>(
    [[1]],
    null,
    {},
    [],
    'x',
    5,
    true,
    { name: [1] },
    [null],
    '${NIX}',
    '{{',
    undefined,
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), junk), { minLength: 1, maxLength: 5 }), (faults) => {
      let value: unknown = shop
      for (const [n, wrong] of faults) {
        const paths = pathsOf(value)
        if (paths.length > 0) value = changed(value, paths[n % paths.length]!, wrong)
      }
      const { read, findings } = findingsOf(JSON.stringify(value))
      assert.ok(read.configuration)
      assert.deepEqual(
        findings.filter(({ range }) => !range),
        [],
      )
      const { servers } = read.configuration
      for (const server of servers)
        compileTools(read.configuration, server, { env, limits: DEFAULT_LIMITS, http })
    }),
    { numRuns: sample(300), includeErrorInReport: true },
  )
})

test('values under a misspelt key are read as those of the right one', () => {
  const { read } = findingsOf(
    'name: a\nservrs: [{name: 1, config: {port: 80, none: }}]\ntols: [{name: t, endpoint: e, headers: {A: true}}]',
  )
  assert.deepEqual(read.configuration?.servers, [{ name: '1', config: { port: '80', none: '' } }])
  assert.deepEqual(read.configuration?.tools[0]?.headers, { A: 'true' })
  assert.ok(read.locate(['servers', 0, 'config', 'port']))
})

test('a default that does not fit still counts as one', () => {
  const { told } = findingsOf(
    'name: a\nrouters: [{server: a, prefix: /a}]\nservers: [{name: a}]\ntools: [{name: t, endpoint: "http://localhost/{{.Args.n}}", args: [{name: n, position: path, type: integer, default: many}]}]',
  )
  assert.deepEqual(
    told.map((one) => one.split(':')[0]),
    ['invalid-default'],
  )
})

test('a dangling or doubled name leaves the configuration as it is', () => {
  const { read, told } = findingsOf(
    'name: a\nrouters: [{server: a, prefix: /a}]\nservers: [{name: a, allowedTools: [x, t]}]\ntools: [{name: t, endpoint: "http://localhost"}, {name: t, endpoint: "http://localhost"}]',
  )
  assert.deepEqual(
    told.map((one) => one.split(':')[0]),
    ['dangling-tool', 'duplicate-name'],
  )
  assert.equal(read.configuration?.tools.length, 2)
})
