import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, ROOT, temporaryFolder } from '../support/process.ts'

/** Reports the flags of V8 that are set. */
const PRELOAD = `
const v8 = require('node:v8')
const { setFlagsFromString } = v8
v8.setFlagsFromString = (flag) => {
  console.error('flag: ' + flag)
  setFlagsFromString(flag)
}
require('node:module').syncBuiltinESMExports()`

const THRESHOLD = '--invocation-count-for-turbofan'
const [major] = process.versions.node.split('.')
/** V8 of Node 20 has no such flag. */
const hasThreshold = Number(major) >= 22

/** The flags for V8's compilers that a gateway set, in their order, until it was ready. */
async function compilersSet(t: TestContext, options: readonly string[] = []): Promise<string[]> {
  const preload = join(temporaryFolder(t), 'preload.cjs')
  writeFileSync(preload, PRELOAD)
  const args = ['serve', join(ROOT, 'bench/servers/tool.yaml'), '--port', String(await freePort())]
  const running = plantgw(t, [...args, '--workers', '1'], {
    node: ['--require', preload, ...options],
    env: { UPSTREAM: 'http://127.0.0.1:9' },
  })
  await running.until(/plantgw serves/)
  // V8 writes this for a flag that it does not know.
  assert.doesNotMatch(running.stderr(), /unrecognized flag/)
  const found = running
    .stderr()
    .matchAll(/^flag: (--(?:no-)?(?:sparkplug|opt|maglev|invocation-count-for-turbofan=\d+))$/gm)
  return [...found].map(([, flag]) => flag as string)
}

test('V8 compiles nothing before a gateway is ready, and then what calls need', async (t) => {
  const held = ['--no-sparkplug', '--no-opt', '--no-maglev']
  const forCalls = ['--sparkplug', '--opt', '--no-maglev', ...(hasThreshold ? [`${THRESHOLD}=400`] : [])]
  const set = await compilersSet(t)
  assert.deepEqual(set.slice(0, 3), held)
  assert.deepEqual(set.slice(-forCalls.length), forCalls)
})

test('what the user lets V8 compile is left as it is', async (t) => {
  for (const flag of ['--no-opt', '--no_opt', '-no-opt', '--jitless'])
    assert.deepEqual(await compilersSet(t, [flag]), [], flag)
})

if (hasThreshold)
  test('when TurboFan begins is left as the user has set it', async (t) => {
    for (const flag of [THRESHOLD, '--invocation_count_for_turbofan']) {
      const set = await compilersSet(t, [`${flag}=200`])
      assert.deepEqual(set.slice(-3), ['--sparkplug', '--opt', '--no-maglev'], flag)
    }
  })

test('a gateway starts where the permission model denies the inspector, with which it collects garbage', async (t) => {
  const [permission = '--experimental-permission'] = ['--permission'].filter((flag) =>
    process.allowedNodeEnvironmentFlags.has(flag),
  )
  const allowed = [permission, '--allow-fs-read=*', '--allow-fs-write=*', '--allow-worker', '--no-warnings']
  const args = ['serve', join(ROOT, 'bench/servers/tool.yaml'), '--port', String(await freePort())]
  const running = plantgw(t, [...args, '--workers', '1'], {
    node: allowed,
    env: { UPSTREAM: 'http://127.0.0.1:9' },
  })
  await running.until(/plantgw serves/)
})
