import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { plantgw, ROOT, temporaryFolder } from '../support/process.ts'

/** Says at the end how many of the first objects of `process.nextTick` a collection leaves. */
const PRELOAD = `
const ticks = []
const init = (id, type, trigger, made) => {
  if (type === 'TickObject' && ticks.length < 1000) ticks.push(new WeakRef(made))
}
require('node:async_hooks').createHook({ init }).enable()
process.on('exit', () => {
  gc()
  console.error('kept: ' + ticks.filter((one) => one.deref()).length + ' of ' + ticks.length)
})`

function writeEnv(t: TestContext): string {
  const file = join(temporaryFolder(t), '.env')
  writeFileSync(file, 'UPSTREAM=http://127.0.0.1:9\n')
  return file
}

test('the gateway keeps one of the objects of nextTick, so that their shape outlives collections', async (t) => {
  const preload = join(temporaryFolder(t), 'preload.cjs')
  writeFileSync(preload, PRELOAD)
  // Options of the program may stand before the command.
  const options = ['--env-file', writeEnv(t)]
  const args = [...options, 'serve', join(ROOT, 'bench/servers/tool.yaml'), '--print-routes']
  const running = plantgw(t, args, {
    node: ['--expose-gc', '--require', preload],
  })
  await running.ended
  const [, kept, all] = /kept: (\d+) of (\d+)/.exec(running.stderr()) ?? []
  assert.equal(kept, '1')
  assert.ok(Number(all) > 1, all)
})
