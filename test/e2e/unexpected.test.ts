import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { freePort, plantgw, ROOT, temporaryFolder } from '../support/process.ts'

test('what nobody catches is logged and counted, and the gateway serves on', async (t) => {
  const folder = temporaryFolder(t)
  const faults = join(folder, 'faults.mjs')
  // A signal that the gateway does not use throws in a timer, and leaves a rejection to nobody.
  writeFileSync(
    faults,
    `process.on('SIGWINCH', () => {
      setTimeout(() => { throw new Error('thrown in a timer') })
      Promise.reject(new Error('rejected for nobody'))
      Promise.reject(null)
    })`,
  )
  const port = await freePort()
  const configuration = join(ROOT, 'examples/configs')
  const gateway = plantgw(
    t,
    ['serve', configuration, '--skip-invalid', '--port', String(port), '--log-format', 'json'],
    { env: { NODE_OPTIONS: `--import ${pathToFileURL(faults)}` } },
  )
  await gateway.until(/plantgw serves/)
  gateway.child.kill('SIGWINCH')
  await gateway.until(/thrown in a timer[\s\S]*internal error|internal error[\s\S]*thrown in a timer/)
  await gateway.until(/rejected for nobody/)
  const health = await fetch(`http://127.0.0.1:${port}/_health`)
  assert.equal(health.status, 200)
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  assert.match(metrics, /^plantgw_internal_errors_total 3$/m)
  gateway.child.kill('SIGINT')
  assert.equal(await gateway.ended, 0)
})
