import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkerSources } from '../../src/workers/served-sources.ts'

const ENV = {}
const file = (name: string) => ({ file: `${name}.yaml`, text: `name: ${name}` })

test('of a change that is discarded nothing is kept, and nothing is read again', async () => {
  const sources = new WorkerSources({ generation: 1, env: ENV, sources: new Map([['a', file('a')]]) })
  const read = async () => (await sources.source(sources.env(), {})).configurations
  const [before] = await read()
  sources.commit()
  const changed = new Map([
    ['a', file('b')],
    ['c', file('c')],
  ])
  sources.change({ generation: 2, env: { NAME: 'other' }, changed, removed: [] })
  assert.deepEqual(
    (await read()).map(({ text }) => text),
    ['name: b', 'name: c'],
  )
  sources.discard()
  const after = await read()
  assert.equal(after.length, 1)
  assert.equal(after[0], before)
})
