import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { CODES, type CodeInfo, explain, type FindingCode, listCodes } from '../../src/findings/index.ts'
import { ROOT } from '../support/process.ts'

const codes = Object.keys(CODES) as FindingCode[]
const page = readFileSync(join(ROOT, 'docs/findings.md'), 'utf8')

describe('codes, explain, docs and golden files say the same', () => {
  test('every code has a golden file, or a test that names it', () => {
    const texts = readdirSync(join(ROOT, 'test'), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.golden.yaml') || /\.test\.ts$/.test(name))
      .filter((name) => !['findings/codes.test.ts', 'config/golden.test.ts'].includes(name))
      .map((name) => readFileSync(join(ROOT, 'test', name), 'utf8'))
    const missing = codes.filter(
      (code) => !texts.some((text) => new RegExp(`(?<![\\w-])${code}(?![\\w-])`).test(text)),
    )
    assert.deepEqual(missing, [])
  })
  test('golden files know no other code', () => {
    const named = readdirSync(join(ROOT, 'test'), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.golden.yaml'))
      .flatMap((name) => [
        ...readFileSync(join(ROOT, 'test', name), 'utf8').matchAll(
          /: (?:error|warning|info): .* \[([\w-]+)\]$/gm,
        ),
      ])
      .map(([, code]) => code!)
    assert.deepEqual(
      [...new Set(named)].filter((code) => !codes.includes(code as FindingCode)),
      [],
    )
  })
  for (const code of codes) {
    test(`explain ${code}`, () => {
      const { severity, title, cause, fix, wrong, right }: CodeInfo = CODES[code]
      const text = explain(code, { color: false })
      for (const part of [code, severity, title, cause, fix]) assert.ok(text.includes(part), part)
      const section = page.slice(page.indexOf(`\n## ${code}\n`))
      for (const part of [severity, title, cause, fix, wrong ?? '', right ?? ''])
        assert.ok(section.includes(part), part)
      assert.equal(wrong === undefined, !text.includes('Wrong:'))
      assert.ok(listCodes().includes(title))
    })
  }
})
