import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namedCaller } from '../../src/access/bearer.ts'
import { runSteps, type Step, type StepResult } from '../../src/access/steps.ts'
import { post, rpc, wire } from '../support/wire.ts'

type Seen = string[]

function step(name: string, result?: () => StepResult | Promise<StepResult>): Step<Seen> {
  return {
    name,
    run(seen) {
      seen.push(name)
      return result?.()
    },
  }
}

test('steps run in order until one has a response', async () => {
  const seen: Seen = []
  const refusal = { status: 418, message: 'no' }
  assert.equal(await runSteps([step('a'), step('b', () => refusal), step('c')], seen), refusal)
  assert.deepEqual(seen, ['a', 'b'])
  assert.equal(await runSteps([step('a'), step('b')], []), undefined)
})

test('a step that waits holds up those behind it', async () => {
  const seen: Seen = []
  let go: (result: StepResult) => void = () => {}
  const waiting = new Promise<StepResult>((resolve) => {
    go = resolve
  })
  const result = runSteps([step('a', () => waiting), step('b')], seen)
  assert.deepEqual(seen, ['a'])
  go(undefined)
  assert.equal(await result, undefined)
  assert.deepEqual(seen, ['a', 'b'])
})

test('authentication may wait, and a fault in it is an error of the gateway', async () => {
  const initialize = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {} })
  const { app } = await wire({
    authenticate: async ({ headers }) => {
      if (headers.authorization === 'Bearer bug') throw new Error('a bug')
      return headers.authorization === 'Bearer me' ? namedCaller('me') : { status: 401, message: 'who?' }
    },
  })
  const status = async (token: string) =>
    (await post(app, '/one/mcp', initialize, { authorization: `Bearer ${token}` })).status
  assert.equal(await status('me'), 200)
  assert.equal(await status('you'), 401)
  assert.equal(await status('bug'), 500)
})

test('documents about a prefix are open to everyone, by their well-known path', async () => {
  const metadata = { text: '{"resource":"x"}', type: 'application/json' }
  const documents = new Map([['/.well-known/oauth-protected-resource/one/mcp', metadata]])
  const { app } = await wire({ token: 'x', documents })
  const headers = { host: 'localhost' }
  const path = '/.well-known/oauth-protected-resource/one/mcp'
  const found = await app.request(path, { headers })
  assert.equal(found.status, 200)
  assert.equal(found.headers.get('content-type'), 'application/json')
  assert.deepEqual(await found.json(), { resource: 'x' })
  assert.equal((await app.request(path, { method: 'POST', headers })).status, 405)
  assert.equal((await app.request(path, { headers: { host: 'evil.example' } })).status, 403)
  for (const other of [
    '/.well-known/nope/one/mcp',
    '/.well-known/oauth-protected-resource/three/mcp',
    '/.well-known/mcp',
  ])
    assert.equal((await app.request(other, { headers })).status, 404, other)
})
