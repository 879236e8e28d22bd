import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { readConfigurations } from '../../src/checks/index.ts'
import { createFileReader, type Source } from '../../src/config/index.ts'
import { askThread } from '../../src/config/loader.ts'
import type { Known } from '../../src/config/loader-thread.ts'
import type { Finding } from '../../src/findings/index.ts'

const text = (i: number) => `name: s-${i}\nrouters: [{server: s, prefix: /s-${i}}]\nservers: [{name: s}]\n`

function folderOf(t: TestContext, count: number) {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-files-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const files = Array.from({ length: count }, (_, i) => join(folder, `${String(i).padStart(4, '0')}.yaml`))
  for (const [i, file] of files.entries()) writeFileSync(file, text(i))
  return { folder, files }
}

async function all(reading: AsyncIterable<Source | undefined>) {
  const sources: (Source | undefined)[] = []
  for await (const source of reading) sources.push(source)
  return sources
}

describe('many files that are read time and again', () => {
  test('are handed over in their order, and those that are the same as the very same', async (t) => {
    const { files } = folderOf(t, 250)
    const read = createFileReader()
    const first = await all(read(files, []))
    assert.deepEqual(
      first,
      files.map((file, i) => ({ file, text: text(i) })),
    )
    writeFileSync(files[7]!, text(8))
    const second = await all(read(files, []))
    assert.equal(second[7]?.text, text(8))
    for (const [i, source] of second.entries()) if (i !== 7) assert.equal(source, first[i])
    const rest = files.slice(100)
    assert.deepEqual(await all(read(rest, [])), second.slice(100))
    assert.deepEqual(await all(read(files, [])), second)
  })

  test('are seen to change by their bytes, also with the size and times of before', async (t) => {
    const { files } = folderOf(t, 100)
    const [file] = files as [string]
    const read = createFileReader()
    const { atime, mtime } = statSync(file)
    await all(read(files, []))
    writeFileSync(file, text(5))
    utimesSync(file, atime, mtime)
    assert.equal((await all(read(files, [])))[0]?.text, text(5))
  })

  test('are read once while nothing that the file system says of them changes', async (t) => {
    const { files } = folderOf(t, 1)
    const [file] = files as [string]
    const ask = async (known?: Known) =>
      (await askThread({ files: [file], known: [known] }))[0] as Known | undefined
    const fresh = await ask()
    // It may change again at what the clock of the file system takes for the same time.
    assert.equal(fresh?.stamp, undefined)
    const old = '/etc/passwd'
    const [first] = (await askThread({ files: [old], known: [undefined] })) as Known[]
    if (!first?.stamp) return t.skip('no file system whose times show every change')
    const replies = await askThread({
      files: [old, old, old],
      known: [first, { ...first, stamp: 'other' }, { digest: 'other', stamp: first.stamp }],
    })
    assert.deepEqual(replies, [undefined, { digest: first.digest, stamp: first.stamp }, undefined])
  })

  test('are told of each time when they cannot be read', async (t) => {
    const { files } = folderOf(t, 120)
    const [gone, large, latin, sound] = files as [string, string, string, string]
    rmSync(gone)
    writeFileSync(large, `# ${'x'.repeat(4 * 1024 * 1024)}`)
    writeFileSync(latin, Buffer.from('name: \xfc', 'latin1'))
    const read = createFileReader()
    for (let i = 0; i < 2; i++) {
      const findings: Finding[] = []
      const sources = (await all(read(files, findings))).filter((source) => source !== undefined)
      assert.equal(sources.length, 117)
      assert.deepEqual(sources[0], { file: sound, text: text(3) })
      const told = findings.map(({ code, file }) => [code, file])
      assert.deepEqual(told, [
        ['unreadable-file', gone],
        ['file-too-large', large],
        ['unreadable-file', latin],
      ])
    }
  })

  test('are read although the thread that reads them has ended', async (t) => {
    const { files } = folderOf(t, 250)
    const read = createFileReader()
    await all(read(files, []))
    await assert.rejects(askThread({ files: [null as never], known: null as never }))
    assert.equal((await all(read(files, []))).length, 250)
  })

  test('come to the same configurations and findings as without', async (t) => {
    const { folder, files } = folderOf(t, 130)
    writeFileSync(files[3]!, 'name: [')
    writeFileSync(files[4]!, text(5))
    rmSync(files[6]!)
    const known = createFileReader()
    const plain = await readConfigurations([folder, files[6]!], {})
    const made = await readConfigurations([folder, files[6]!], {}, { files: known })
    assert.deepEqual(made.findings, plain.findings)
    assert.deepEqual([...made.sources], [...plain.sources])
  })
})
