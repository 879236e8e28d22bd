import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ListSource, listedTools } from '../../src/mcp/middleware/listed-tools.ts'

/** Of a session of its own each time. */
const source = (among: object, name: string): ListSource => ({
  of: {},
  among,
  viewer: 'session',
  rules: '',
  ask: async () => ({ result: { tools: [{ name }], ttlMs: 5 } }),
})

test('sessions of one service that see the same tools have the same list, and so the same index', async () => {
  const service = {}
  const [one, other, more] = await Promise.all(
    ['a', 'a', 'b'].map((name) => listedTools(source(service, name))),
  )
  assert.equal(one, other)
  assert.notEqual(one, more)
  assert.equal(await listedTools(source(service, 'a')), one)
  assert.notEqual(await listedTools(source({}, 'a')), one)
})
