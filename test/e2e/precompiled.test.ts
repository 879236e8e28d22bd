import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseDocument } from 'yaml'
import { precompiledFile, schemaAjv, schemaOf, withoutEnv } from '../../src/config/schemas.ts'
import { ROOT } from '../support/process.ts'

const require = createRequire(import.meta.url)

for (const name of ['configuration', 'settings', 'lint'] as const)
  test(`the validator of ${name} that the build has written says what the schema says`, () => {
    const written = require(join(ROOT, 'dist/config', precompiledFile(name)))
    const compiled = schemaAjv(true).compile(withoutEnv(schemaOf(name)))
    const folder = join(ROOT, 'test/config/golden')
    const files = readdirSync(folder, { recursive: true }).map(String)
    const texts = files
      .filter((file) => /\.ya?ml$/.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8'))
    const values = texts.map((text) => {
      try {
        return parseDocument(text, { logLevel: 'error' }).toJS()
      } catch {
        return text
      }
    })
    let faulty = 0
    for (const value of [...values, {}, null, [], 'a', { tools: [{ args: [{ pattern: '(' }] }] }]) {
      assert.equal(written(value), compiled(value))
      assert.deepEqual(written.errors, compiled.errors)
      if (written.errors) faulty++
    }
    assert.ok(faulty > 10)
  })
