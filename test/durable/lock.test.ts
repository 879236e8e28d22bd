import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { lstat, lutimes, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { acquireLock, type Lock, targetOf } from '../../src/store/lock.ts'
import { type Holder, liveness, thisProcess } from '../../src/store/process.ts'
import { folder } from '../plants/helpers.ts'

const never = () => assert.fail('nothing is waited for when the holder can be seen')
const isLock = (taken: Lock | Holder): taken is Lock => 'release' in taken

/** A holder whose process has ended. */
async function dead(): Promise<Holder> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(child, 'exit')
  return { ...thisProcess(), pid: child.pid!, start: '1' }
}

test('the lock of a living process is refused, and free once it is released', async (t) => {
  const path = join(await folder(t), 'lock')
  const first = await acquireLock(path, never)
  assert.ok(isLock(first))
  assert.equal(await first.held(), true)
  const second = await acquireLock(path, never)
  assert.ok(!isLock(second))
  assert.equal(second.pid, process.pid)
  await first.release()
  assert.equal(await first.held(), false)
  const third = await acquireLock(path, never)
  assert.ok(isLock(third))
  await first.release()
  assert.equal(await third.held(), true, 'a second release does not let go of what is not its own')
  await third.release()
  assert.deepEqual(await readdir(join(path, '..')), [])
})

test('the lock of a dead process is taken over at once', async (t) => {
  const path = join(await folder(t), 'lock')
  await symlink(targetOf(await dead()), path)
  const lock = await acquireLock(path, never)
  assert.ok(isLock(lock))
  assert.equal(await lock.held(), true)
  assert.deepEqual(await readdir(join(path, '..')), ['lock'])
  await lock.release()
})

const PROC = { skip: !existsSync('/proc/self/stat') && 'needs /proc' }

test('another process that was given the same pid is not the holder', PROC, async (t) => {
  const path = join(await folder(t), 'lock')
  const holder = { ...thisProcess(), start: '1' }
  assert.equal(liveness(holder), 'dead')
  assert.equal(liveness(thisProcess()), 'alive')
  assert.equal(liveness({ ...holder, start: '' }), 'alive', 'without a start time the pid decides')
  await symlink(targetOf(holder), path)
  const lock = await acquireLock(path, never)
  assert.ok(isLock(lock))
  await lock.release()
})

test('a zombie is dead', PROC, async (t) => {
  // The child ends once the shell has become `sleep`, which never reaps it; a shell might.
  const parent = spawn('sh', ['-c', 'exec 3<&0; (read go <&3) & echo $!; exec sleep 600'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  t.after(() => parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data')
  const pid = Number(String(line))
  const stat = (of: number) =>
    /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${of}/stat`, 'latin1'))!.slice(1) as [string, string]
  while (stat(parent.pid!)[0] !== 'sleep') await new Promise(setImmediate)
  parent.stdin.end('go\n')
  while (!stat(pid)[1].startsWith('Z')) await new Promise(setImmediate)
  const start = stat(pid)[1].split(' ')[19]!
  assert.equal(liveness({ ...thisProcess(), pid, start }), 'dead')
})

const FOREIGN = targetOf({ ...thisProcess(), realm: 'another-realm-16' })
const asFile = (text: string) => (path: string) => writeFile(path, text)
const asLink = (target: string) => (path: string) => symlink(target, path)
for (const [what, plant] of [
  ['a holder that cannot be seen from here', asLink(FOREIGN)],
  ['a lock file of an earlier release', asFile('{"id":"00000000-0000-4000-8000-000000000000","pid":1}')],
  ['a lock file that a power cut damaged', asFile('\0\0\0\0')],
  ['a lock file whose id would lead elsewhere', asLink(FOREIGN.replace(/^[^:]*/, '../../elsewhere'))],
] as const) {
  test(`${what} lives as long as its file is touched`, async (t) => {
    const path = join(await folder(t), 'lock')
    await plant(path)
    const before = await lstat(path)
    const taken = await acquireLock(path, () => lutimes(path, 1, 1))
    assert.ok(!isLock(taken))
    assert.equal((await lstat(path)).ino, before.ino)
  })

  test(`${what} is dead once its file is not touched any more`, async (t) => {
    const path = join(await folder(t), 'lock')
    await plant(path)
    const taken = await acquireLock(path, async () => {})
    assert.ok(isLock(taken))
    assert.equal(await taken.held(), true)
    await taken.release()
  })
}

test('the lock fits into an inode of ext4, whatever the process', () => {
  const longest = { ...thisProcess(), pid: 4_194_304, start: '9'.repeat(13) }
  assert.ok(targetOf(longest).length < 60, targetOf(longest))
})

test('a starter that died half-way blocks nobody and leaves nothing', async (t) => {
  const home = await folder(t)
  const path = join(home, 'lock')
  const [first, second, third] = [await dead(), await dead(), await dead()]
  await symlink(targetOf(first), path)
  await symlink(targetOf(second), `${path}.${first.id}`)
  await symlink(targetOf(third), `${path}.${first.id}.${second.id}`)
  const lock = await acquireLock(path, never)
  assert.ok(isLock(lock))
  assert.deepEqual(await readdir(home), ['lock'])
  await lock.release()
})

test('of many that start at once in one process exactly one takes over', async (t) => {
  const path = join(await folder(t), 'lock')
  const gone = await dead()
  for (let round = 0; round < 100; round++) {
    await symlink(targetOf({ ...gone, id: thisProcess().id }), path)
    const taken = await Promise.all(Array.from({ length: 8 }, () => acquireLock(path, never)))
    const locks = taken.filter(isLock)
    assert.equal(locks.length, 1)
    assert.equal(await locks[0]!.held(), true)
    await locks[0]!.release()
  }
})

test('of several processes that start at once exactly one takes over', async (t) => {
  const path = join(await folder(t), 'lock')
  const gone = await dead()
  const children = Array.from({ length: 3 }, () =>
    fork(new URL('lock.child.ts', import.meta.url), [path], { execArgv: ['--import', 'tsx'] }),
  )
  t.after(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const ask = async (child: ChildProcess, request: string) => {
    const answer = once(child, 'message')
    child.send(request)
    return (await answer)[0] as boolean
  }
  await Promise.all(children.map((child) => once(child, 'message')))
  for (let round = 0; round < 100; round++) {
    await symlink(targetOf({ ...gone, id: thisProcess().id }), path)
    const taken = await Promise.all(children.map((child) => ask(child, 'take')))
    assert.deepEqual(taken.filter(Boolean), [true], `round ${round}`)
    await Promise.all(children.map((child) => ask(child, 'release')))
  }
})

test('what others planted in a shared folder is neither written through nor read', {
  timeout: 20_000,
}, async (t) => {
  const root = await folder(t)
  const [path, victim] = [join(root, 'lock'), join(root, 'victim')]
  await writeFile(victim, 'precious')
  await utimes(victim, 1, 1)
  await symlink(victim, path)
  execFileSync('mkfifo', [join(root, 'lock.pipe')])
  await symlink(victim, join(root, 'lock.link'))
  const lock = await acquireLock(path, async () => {})
  assert.ok(isLock(lock))
  assert.equal(await lock.held(), true)
  assert.equal(await lock.held(), true)
  assert.equal(await readFile(victim, 'utf8'), 'precious')
  assert.equal((await stat(victim)).mtimeMs, 1000)
  await lock.release()
})
