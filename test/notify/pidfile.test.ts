import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PidFileError, pidFault, readPid, takePidFile } from '../../src/notify/pidfile.ts'
import { temporaryFolder } from '../support/process.ts'

test('links that others planted in a shared folder are not written through', (t) => {
  const folder = temporaryFolder(t)
  const [path, victim] = [join(folder, 'plantgw.pid'), join(folder, 'victim')]
  writeFileSync(victim, 'precious\n')
  // The name of the temporary file that was used once could be foreseen.
  for (let pid = process.pid - 1; pid <= process.pid + 1; pid++) symlinkSync(victim, `${path}.${pid}`)
  symlinkSync(join(folder, 'nowhere'), path)
  const release = takePidFile(path)
  assert.equal(readFileSync(victim, 'utf8'), 'precious\n')
  assert.equal(readPid(path), process.pid)
  assert.ok(lstatSync(path).isFile())
  release()
  assert.deepEqual(
    readdirSync(folder).filter((name) => !/^(?:victim|plantgw\.pid\.\d+)$/.test(name)),
    [],
  )
})

test('a pipe in the place of the pid file is refused, and nobody waits for it', (t) => {
  const path = join(temporaryFolder(t), 'plantgw.pid')
  execFileSync('mkfifo', [path])
  assert.equal(readPid(path), undefined)
  assert.throws(() => takePidFile(path), PidFileError)
  assert.match(pidFault(path) ?? '', /it does not hold a process id/)
})
