import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'

const TIMEOUT = { timeout: 60_000 }

test('wrong tokens of an address are bounded, who logged in from it before is not', TIMEOUT, async (t) => {
  const file = join(temporaryFolder(t), 'plants.json')
  const tokens = ['ann', 'bob'].map((caller) => ({ token: `the-token-of-${caller}`, caller }))
  const gateway = await served(t, [{ name: 'none', routers: [] }], {
    settings: {
      plants: { storage: { type: 'lowdb', file }, tokens },
      limits: { maxFailedLogins: 3 },
      trustedProxies: ['127.0.0.1'],
      admin: { token: 'the-token-of-the-admin' },
    },
  })
  const list = (token: string | undefined, address: string) => {
    const headers: Record<string, string> = { 'x-forwarded-for': address }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    return gateway.send({ path: '/plants', method: 'GET', headers })
  }
  const HERE = '198.51.100.7'
  assert.equal((await list('the-token-of-ann', HERE)).status, 200)
  for (let i = 0; i < 3; i++) assert.equal((await list(`guess-${i}`, HERE)).status, 401)
  const limited = await list('guess', HERE)
  assert.equal(limited.status, 429)
  assert.match(String(limited.headers['retry-after']), /^\d+$/)
  assert.deepEqual(JSON.parse(limited.text).error, 429)
  assert.match(
    JSON.parse(limited.text).message,
    /^Too many wrong credentials came from this address: try again in \d+ s\.$/,
  )
  // A right guess must not be told from a wrong one.
  assert.equal((await list('the-token-of-bob', HERE)).status, 429)
  assert.equal((await list('the-token-of-ann', HERE)).status, 200)
  assert.equal((await list(undefined, HERE)).status, 401)
  assert.equal((await list('guess', '198.51.100.8')).status, 401)
  const metrics = await gateway.send({
    path: '/metrics',
    method: 'GET',
    headers: { authorization: 'Bearer the-token-of-the-admin' },
  })
  assert.match(metrics.text, /plantgw_refused_credentials_total\{prefix="\/plants",reason="limited"\} 2\n/)
})
