import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REGISTRY } from '../../src/checks/registry.ts'
import { CODES, checkOf, type FindingCode } from '../../src/findings/index.ts'

/** Of a phase that the registry lists, but given by the text of the file, by reading it, or once it is compiled. */
const ELSEWHERE = new Set<FindingCode>([
  'literal-secret',
  'tool-list-size',
  'unknown-key',
  'renamed-key',
  'removed-key',
  'wrong-type',
  'unsupported-auth',
  'invalid-default',
  'duplicate-name',
  'dangling-member',
  'duplicate-prefix',
  'name-clash',
  'duplicate-configuration',
  'upstream-shared',
  'upstream-start',
  'upstream-not-pinned',
  'tenant-variable',
  'tenant-templates',
  'skill-folder',
  'skill-file',
  'skill-front-matter',
  'skill-name',
])

test('every code of a phase belongs to a check of the registry', () => {
  const listed = new Set(Object.values(REGISTRY).flatMap((checks) => checks.flatMap(({ codes }) => codes)))
  const missing = (Object.keys(CODES) as FindingCode[]).filter(
    (code) => checkOf(code) in REGISTRY && !listed.has(code) && !ELSEWHERE.has(code),
  )
  assert.deepEqual(missing, [])
})

test('a check reports codes of the catalogue', () => {
  for (const checks of Object.values(REGISTRY))
    for (const { codes, on } of checks) {
      assert.ok(codes.length > 0, on)
      for (const code of codes) assert.ok(Object.hasOwn(CODES, code), code)
    }
})
