import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sound } from '../store/files.ts'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'

test('serve applies changes of its files by itself, by --watch and by the settings', async (t) => {
  for (const args of [
    ['configs', '--watch'],
    ['configs', '-s', 'watch.yml'],
    ['-s', 'storage.yml'],
  ]) {
    const cwd = temporaryFolder(t)
    const write = (name: string, text: string) => writeFileSync(join(cwd, name), text)
    write('watch.yml', 'watch: true')
    write('storage.yml', 'watch: true\nstorage: { type: directory, path: configs }')
    const file = 'configs/a.yaml'
    mkdirSync(join(cwd, 'configs'))
    write(file, sound('a'))
    const port = await freePort()
    const gateway = plantgw(t, ['serve', ...args, '--port', String(port), '--log-format', 'json'], { cwd })
    await gateway.until(/plantgw serves/)
    write(file, 'name: [')
    await gateway.until(/"level":"error".*"trigger":"watch".*"refused":\["a"\]/)
    write(file, sound('a', 'changed'))
    await gateway.until(/"level":"info".*"trigger":"watch".*"changed":\["a"\]/)
    gateway.child.kill('SIGINT')
    assert.equal(await gateway.ended, 0)
  }
})
