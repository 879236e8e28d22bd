import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFileLister } from '../../src/config/index.ts'
import type { Finding } from '../../src/findings/index.ts'

function folderOf(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-list-'))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'below'))
  for (const name of ['a.yaml', 'below/b.yaml']) writeFileSync(join(folder, name), 'name: a\n')
  return folder
}

/** Moves the clock on, so that what has changed until now is not recent. */
function later(t: TestContext) {
  const now = Date.now() + 60_000
  t.mock.method(Date, 'now', () => now)
}

test('the same files are the very same object, whether or not their folders show all changes', async (t) => {
  const folder = folderOf(t)
  const list = createFileLister([folder])
  const first = await list([])
  assert.deepEqual(first.names, [join(folder, 'a.yaml'), join(folder, 'below/b.yaml')])
  assert.equal(await list([]), first)
  later(t)
  assert.equal(await list([]), first)
  assert.equal(await list([]), first)
  writeFileSync(join(folder, '.new'), 'name: b\n')
  renameSync(join(folder, '.new'), join(folder, 'a.yaml'))
  assert.equal(await list([]), first)
})

test('files that come and go are seen, in folders below too', async (t) => {
  const folder = folderOf(t)
  later(t)
  const list = createFileLister([folder])
  const names = async () => (await list([])).names.map((name) => name.slice(folder.length + 1))
  assert.deepEqual(await names(), ['a.yaml', 'below/b.yaml'])
  writeFileSync(join(folder, 'below/c.yaml'), 'name: c\n')
  assert.deepEqual(await names(), ['a.yaml', 'below/b.yaml', 'below/c.yaml'])
  rmSync(join(folder, 'a.yaml'))
  utimesSync(folder, 1, 1)
  assert.deepEqual(await names(), ['below/b.yaml', 'below/c.yaml'])
  rmSync(join(folder, 'below'), { recursive: true })
  const findings: Finding[] = []
  for (let i = 0; i < 2; i++) assert.deepEqual((await list(findings)).names, [])
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['no-files', 'no-files'],
  )
})

test('what a link leads to is looked at each time', async (t) => {
  const [folder, other] = [folderOf(t), folderOf(t)]
  later(t)
  symlinkSync(join(folder, 'below', 'current'), join(folder, 'c.yaml'))
  symlinkSync(join(folder, 'a.yaml'), join(folder, 'below', 'current'))
  const list = createFileLister([folder])
  assert.deepEqual([...(await list([])).outside], [])
  rmSync(join(folder, 'below', 'current'))
  symlinkSync(join(other, 'a.yaml'), join(folder, 'below', 'current'))
  assert.deepEqual([...(await list([])).outside], [join(folder, 'c.yaml')])
})
