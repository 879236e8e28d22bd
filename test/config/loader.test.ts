import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readFiles, type Source } from '../../src/config/index.ts'
import type { Finding } from '../../src/findings/index.ts'

test('many files are read in their order, with a finding for each that cannot be read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-files-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const files = Array.from({ length: 120 }, (_, i) => join(folder, `${i}.yaml`))
  for (const [i, file] of files.entries()) writeFileSync(file, `name: s-${i}\n`)
  const [gone, large, latin] = files as [string, string, string]
  rmSync(gone)
  writeFileSync(large, `# ${'x'.repeat(4 * 1024 * 1024)}`)
  writeFileSync(latin, Buffer.from('name: \xfc', 'latin1'))
  const findings: Finding[] = []
  const sources: (Source | undefined)[] = []
  for await (const source of readFiles(files, findings)) sources.push(source)
  assert.deepEqual(
    sources,
    files.map((file, i) => (i < 3 ? undefined : { file, text: `name: s-${i}\n` })),
  )
  assert.deepEqual(findings.map(({ code, file }) => `${code} ${file}`).sort(), [
    `file-too-large ${large}`,
    `unreadable-file ${gone}`,
    `unreadable-file ${latin}`,
  ])
})
