import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { foreignFile } from '../../src/config/foreign-file.ts'
import { run, temporaryFolder } from '../support/process.ts'

test('bytes that are no text are one fault that says what they are', async (t) => {
  const cwd = temporaryFolder(t)
  const text = '{"openapi": "3.0.3", "paths": {}}'
  const faults: [bytes: Buffer, fault: RegExp][] = [
    [gzipSync(text), /^plantgw: file is compressed with gzip: decompress it with `gunzip`\n$/],
    [Buffer.from(`\uFEFF${text}`, 'utf16le'), /^plantgw: file is UTF-16 text: save it as UTF-8\n$/],
    [Buffer.from(text, 'utf16le'), /^plantgw: file is UTF-16 text: save it as UTF-8\n$/],
    [Buffer.from('PK\x03\x04'), /^plantgw: file is a ZIP archive: extract the file from it\n$/],
    [Buffer.from([0x7b, 0xff]), /^plantgw: file is not UTF-8 text: save it as UTF-8\n$/],
  ]
  for (const [bytes, fault] of faults) {
    writeFileSync(join(cwd, 'file'), bytes)
    const { code, stderr } = await run(t, ['import', 'openapi', 'file'], { cwd })
    assert.equal(code, 2)
    assert.match(stderr, fault)
  }
})

test('what is compressed is said to be, also of configurations and settings', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'a.yaml'), gzipSync('name: a'))
  const { stdout } = await run(t, ['validate', 'a.yaml'], { cwd })
  assert.match(
    stdout,
    /a\.yaml: error: the file is compressed with gzip .*\n {2}hint: Decompress it with `gunzip`\n/,
  )
  const { code, stderr } = await run(t, ['validate', '--settings', 'a.yaml'], { cwd })
  assert.equal(code, 2)
  assert.match(stderr, /settings file a\.yaml: it is compressed with gzip: decompress it with `gunzip`/)
})

test('keys that every object has show nothing', () => {
  for (const key of ['constructor', 'toString', '__proto__'])
    assert.equal(foreignFile(JSON.parse(`{"${key}": {"a": 1}}`), 'configuration', 'x.yaml'), undefined)
})
