import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { readConfigurations } from '../../src/checks/index.ts'
import { createFileReader, type Source } from '../../src/config/index.ts'
import { askThread } from '../../src/config/loader.ts'
import type { Finding } from '../../src/findings/index.ts'

const text = (i: number) => `name: s-${i}\nrouters: [{server: s, prefix: /s-${i}}]\nservers: [{name: s}]\n`

function folderOf(t: TestContext, count: number) {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-files-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const files = Array.from({ length: count }, (_, i) => join(folder, `${String(i).padStart(4, '0')}.yaml`))
  for (const [i, file] of files.entries()) writeFileSync(file, text(i))
  return { folder, files }
}

async function all(reading: AsyncIterable<readonly (Source | undefined)[]>) {
  const sources: (Source | undefined)[] = []
  for await (const some of reading) sources.push(...some)
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

  test('come in the very same lists, but for those in which one has changed', async (t) => {
    const { files } = folderOf(t, 250)
    const read = createFileReader()
    const lists = async (names: readonly string[] = files) => {
      const found: (readonly (Source | undefined)[])[] = []
      for await (const some of read(names, [])) found.push(some)
      return found
    }
    const first = await lists()
    writeFileSync(files[120]!, text(8))
    const changed = await Promise.all([lists(), lists()])
    for (const [one, two, three] of changed) {
      assert.equal(one, first[0])
      assert.equal(two?.[20]?.text, text(8))
      assert.equal(three, first[2])
    }
    rmSync(files[10]!)
    const findings: Finding[] = []
    for (let i = 0; i < 2; i++) assert.equal((await all(read(files, findings)))[10], undefined)
    assert.deepEqual(
      findings.map(({ file }) => file),
      [files[10], files[10]],
    )
    writeFileSync(files[10]!, text(10))
    assert.equal((await lists())[0]?.[10]?.text, text(10))
    assert.equal((await lists(files.slice(1)))[0]?.[0]?.text, text(1))
    assert.deepEqual((await lists()).flat(), (await lists()).flat())
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

  test('are sent once to a reader, and again once they were forgotten', async (t) => {
    const { files } = folderOf(t, 2)
    const reader = -1
    const ask = (request: object = {}) => askThread({ files, reader, ...request })
    const sent = async (request?: object) => (await ask(request)).map(([at]) => at)
    assert.deepEqual(await sent(), [0, 1])
    assert.deepEqual(await sent(), [])
    assert.deepEqual(await sent({ reader: -2 }), [0, 1])
    writeFileSync(files[1]!, text(5))
    assert.deepEqual(await sent(), [1])
    await ask({ forget: true })
    assert.deepEqual(await sent(), [0, 1])
    rmSync(files[0]!)
    assert.deepEqual([await sent(), await sent()], [[0], [0]])
    writeFileSync(files[0]!, text(0))
    assert.deepEqual(await sent(), [0])
  })

  test('are what they are, whatever runs of one reader are under way or given up', async (t) => {
    const { files } = folderOf(t, 300)
    const read = createFileReader()
    const [first, second] = [all(read(files, [])), all(read(files.slice(0, 150), []))]
    for await (const some of read(files, [])) {
      assert.equal(some[0]?.text, text(0))
      break
    }
    writeFileSync(files[299]!, text(7))
    const last = await all(read(files, []))
    assert.deepEqual([(await first).length, (await second).length, last[299]?.text], [300, 150, text(7)])
    assert.deepEqual((await all(read(files, []))).slice(0, 299), (await first).slice(0, 299))
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
    await assert.rejects(askThread({ reader: -3 }))
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
