import assert from 'node:assert/strict'
import fs, {
  appendFileSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Reload } from '../../src/build/types.ts'
import { watchFiles } from '../../src/server/watch-files.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { sound } from '../store/files.ts'
import { gatewayOver } from '../support/gateway.ts'
import { temporaryFolder } from '../support/process.ts'

/** A gateway that watches these paths. */
async function watching(t: TestContext, ...paths: string[]) {
  const lines: string[] = []
  const log = await createLog({ level: 'warn', format: 'json', to: { write: (line) => lines.push(line) } })
  const watch = await watchFiles(paths, { env: {}, log })
  const { gateway, findings } = await gatewayOver(t, paths, {}, { log, skipInvalid: true })
  t.after(() => watch.close())
  const reloads: Reload[] = []
  let wake = () => {}
  watch.start(async (trigger) => {
    assert.equal(trigger, 'watch')
    const reload = await gateway.reload()
    reloads.push(reload)
    wake()
    return reload
  })
  return {
    findings,
    lines,
    reloads,
    /** Waits for a reload of which this is so, and forgets it and those before. */
    async until(is: (reload: Reload) => boolean): Promise<Reload> {
      for (;;) {
        const at = reloads.findIndex(is)
        if (at >= 0) return reloads.splice(0, at + 1).at(-1)!
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
    prefixes: () => [...gateway.table().routes.keys()].sort(),
  }
}

type Watching = Awaited<ReturnType<typeof watching>>

const changed = (name: string) => (reload: Reload) => reload.changed.includes(name)
const added = (name: string) => (reload: Reload) => reload.added.includes(name)
const removed = (name: string) => (reload: Reload) => reload.removed.includes(name)

const WAYS: Record<string, (file: string, text: string) => void | Promise<void>> = {
  'written in place': (file, text) => writeFileSync(file, text),
  'a temporary file beside it renamed over it': (file, text) => {
    writeFileSync(`${file}.tmp`, text)
    renameSync(`${file}.tmp`, file)
  },
  'renamed to a backup, and made anew': (file, text) => {
    renameSync(file, `${file}~`)
    writeFileSync(file, text)
    unlinkSync(`${file}~`)
  },
  'removed and made anew': (file, text) => {
    unlinkSync(file)
    writeFileSync(file, text)
  },
  'removed, and made anew after a while': async (file, text) => {
    unlinkSync(file)
    await delay(300)
    writeFileSync(file, text)
  },
  'emptied, and filled after a while': async (file, text) => {
    const handle = openSync(file, 'w')
    await delay(300)
    writeSync(handle, text)
    closeSync(handle)
  },
  'written in two halves': async (file, text) => {
    const half = text.indexOf('servers') + 12
    writeFileSync(file, text.slice(0, half))
    await delay(300)
    appendFileSync(file, text.slice(half))
  },
  'written with the same size': (file) => {
    writeFileSync(file, readFileSync(file, 'utf8').replace('Says hello', 'Hello says'))
  },
}

test('whatever way a file is saved, the change is applied once and nothing is refused or removed', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, sound('a'))
  const { until, reloads } = await watching(t, folder)
  for (const [way, save] of Object.entries(WAYS)) {
    await save(file, sound('a', JSON.stringify(way)))
    const { findings, ...reload } = await until(() => true)
    assert.deepEqual([reload.changed, findings, reload.removed], [['a'], [], []], way)
  }
  assert.deepEqual(reloads, [])
})

test('a file with an error is told, and the next save mends it', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, sound('a'))
  const { until, prefixes } = await watching(t, folder)
  writeFileSync(file, 'name: [')
  const broken = await until(() => true)
  assert.deepEqual([broken.refused, prefixes()], [['a'], ['/a']])
  writeFileSync(file, sound('a', 'mended'))
  assert.deepEqual((await until(changed('a'))).findings, [])
})

test('files and sub-folders that come and go are seen, below new folders too', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), sound('a'))
  const { until, prefixes } = await watching(t, folder)
  writeFileSync(join(folder, 'b.yaml'), sound('b'))
  await until(added('b'))
  mkdirSync(join(folder, 'deep/er'), { recursive: true })
  writeFileSync(join(folder, 'deep/er/c.yaml'), sound('c'))
  await until(added('c'))
  writeFileSync(join(folder, 'deep/er/c.yaml'), sound('c', 'second'))
  await until(changed('c'))
  renameSync(join(folder, 'deep'), join(folder, 'other'))
  await until(changed('c'))
  writeFileSync(join(folder, 'other/er/c.yaml'), sound('c', 'third'))
  await until(changed('c'))
  rmSync(join(folder, 'other'), { recursive: true })
  await until(removed('c'))
  unlinkSync(join(folder, 'b.yaml'))
  await until(removed('b'))
  assert.deepEqual(prefixes(), ['/a'])
})

test('a folder that is removed serves on and is told once; made again it is watched again', async (t) => {
  const folder = join(temporaryFolder(t), 'configs')
  mkdirSync(folder)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, sound('a'))
  const { until, prefixes, reloads } = await watching(t, folder)
  for (let round = 0; round < 3; round++) {
    rmSync(folder, { recursive: true })
    const lost = await until(({ findings }) => findings.length > 0)
    assert.deepEqual(
      lost.findings.map(({ code, file, hint }) => [code, file, hint]),
      [['unreadable-file', folder, 'Check the path and its spelling']],
    )
    assert.deepEqual([prefixes(), lost.removed], [['/a'], []])
    mkdirSync(folder)
    writeFileSync(file, sound('a', `again ${round}`))
    assert.deepEqual((await until(changed('a'))).findings, [])
    assert.deepEqual(reloads, [])
    writeFileSync(file, sound('a', `and changed ${round}`))
    await until(changed('a'))
  }
})

/** A folder as Kubernetes mounts a ConfigMap, and how it changes one: all files at once, by one link. */
function configMap(t: TestContext) {
  const folder = join(temporaryFolder(t), 'mounted')
  mkdirSync(folder)
  let generation = 0
  const swap = (files: Record<string, string>) => {
    const fresh = `..2026_11_21_${++generation}`
    mkdirSync(join(folder, fresh))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, fresh, name), text)
    symlinkSync(fresh, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    for (const name of Object.keys(files))
      if (generation === 1) symlinkSync(join('..data', name), join(folder, name))
    rmSync(join(folder, `..2026_11_21_${generation - 1}`), { recursive: true, force: true })
  }
  return { folder, swap }
}

test('the swaps of a Kubernetes ConfigMap are applied, all files in one reload', async (t) => {
  for (const named of ['folder', 'file']) {
    const { folder, swap } = configMap(t)
    swap({ 'a.yaml': sound('a'), 'b.yaml': sound('b') })
    const paths = named === 'folder' ? [folder] : [join(folder, 'a.yaml'), join(folder, 'b.yaml')]
    const { until, reloads } = await watching(t, ...paths)
    for (let round = 0; round < 3; round++) {
      swap({ 'a.yaml': sound('a', `round ${round}`), 'b.yaml': sound('b', `round ${round}`) })
      const { changed, findings } = await until(() => true)
      assert.deepEqual([changed, findings], [['a', 'b'], []], named)
    }
    assert.deepEqual(reloads, [])
  }
})

test('folders and files behind links are watched, and links that lead elsewhere', async (t) => {
  const root = temporaryFolder(t)
  const release = (name: string, note: string) => {
    mkdirSync(join(root, name, 'configs'), { recursive: true })
    writeFileSync(join(root, name, 'configs/a.yaml'), sound('a', note))
  }
  const point = (link: string, target: string) => {
    symlinkSync(target, join(root, `${link}.new`))
    renameSync(join(root, `${link}.new`), join(root, link))
  }
  release('one', 'one')
  release('two', 'two')
  mkdirSync(join(root, 'elsewhere'))
  writeFileSync(join(root, 'elsewhere/b.yaml'), sound('b'))
  symlinkSync(join(root, 'elsewhere/b.yaml'), join(root, 'two/configs/b.yaml'))
  point('current', 'one')
  point('direct', 'one/configs')
  for (const path of [join(root, 'current/configs'), join(root, 'direct')]) {
    const { until } = await watching(t, path)
    point('current', 'two')
    point('direct', 'two/configs')
    await until(added('b'))
    writeFileSync(join(root, 'elsewhere/b.yaml'), sound('b', JSON.stringify(path)))
    await until(changed('b'))
    writeFileSync(join(root, 'two/configs/a.yaml'), sound('a', JSON.stringify(path)))
    await until(changed('a'))
    point('current', 'one')
    point('direct', 'one/configs')
    await until(removed('b'))
  }
})

test('what is no configuration changes nothing, nor does a file that is touched more than its reload', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, sound('a'))
  const { until, reloads } = await watching(t, file)
  for (const name of ['.a.yaml.swp', 'notes.txt', '4913', 'b.yaml']) writeFileSync(join(folder, name), 'x')
  copyFileSync(file, join(folder, 'copy.yaml'))
  const { generation } = await new Promise<Reload>((resolve) => {
    void until(() => true).then(resolve)
    writeFileSync(file, readFileSync(file))
  })
  assert.deepEqual([generation, reloads], [1, []])
})

test('a change between the first reading and the start of watching is not lost', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), sound('a'))
  const log = await createLog({ level: 'silent' })
  const watch = await watchFiles([folder], { env: {}, log })
  t.after(() => watch.close())
  writeFileSync(join(folder, 'a.yaml'), sound('a', 'second'))
  assert.equal(
    await new Promise((resolve) => {
      watch.start(async (trigger) => {
        resolve(trigger)
        return {} as Reload
      })
    }),
    'watch',
  )
})

test('a link in a folder has nothing behind it watched, as it may lead to all of the disk', async (t) => {
  const root = temporaryFolder(t)
  const folder = join(root, 'configs')
  for (const each of ['configs', 'other/below']) mkdirSync(join(root, each), { recursive: true })
  writeFileSync(join(folder, 'a.yaml'), sound('a'))
  for (const each of ['b.yaml', 'below/c.yaml']) writeFileSync(join(root, 'other', each), sound('b'))
  symlinkSync('../other', join(folder, 'link'))
  symlinkSync('..', join(folder, 'up'))
  const { watch } = fs
  const watched: string[] = []
  t.mock.method(fs, 'watch', (path: string, ...rest: never[]) => {
    watched.push(path)
    return (watch as (...args: unknown[]) => fs.FSWatcher)(path, ...rest)
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const { until } = await watching(t, folder)
  for (const note of ['second', 'third']) {
    writeFileSync(join(folder, 'a.yaml'), sound('a', note))
    await until(changed('a'))
  }
  assert.ok(watched.includes(folder))
  assert.deepEqual(
    watched.filter((path) => /other|link.|up./.test(path.slice(root.length))),
    [],
  )
})

test('without notices of the system the files are looked at, and the cure is told once', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'below'))
  const file = join(folder, 'below/a.yaml')
  writeFileSync(file, sound('a'))
  t.mock.method(fs, 'watch', () => {
    throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), {
      code: 'ENOSPC',
    })
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const { until, lines }: Watching = await watching(t, folder)
  for (const note of ['second', 'third']) {
    writeFileSync(file, sound('a', note))
    await until(changed('a'))
  }
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /"level":"warn".*sysctl fs\.inotify\.max_user_watches/)
})

test('a change is applied although a reload failed, without another change', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, sound('a'))
  const log = await createLog({ level: 'silent', format: 'json' })
  const watch = await watchFiles([folder], { env: {}, log })
  t.after(() => watch.close())
  let reloads = 0
  const again = new Promise<void>((resolve) =>
    watch.start(async () => {
      if (++reloads === 1) throw new Error('a worker did not answer')
      resolve()
      return {} as Reload
    }),
  )
  writeFileSync(file, sound('a', 'second'))
  await again
})
