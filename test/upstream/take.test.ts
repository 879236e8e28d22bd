import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTexts } from '../../src/upstream/transport/channel.ts'

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

test('a response has no members but those of JSON-RPC, so that none passes for one of the gateway', () => {
  const [taken] = readTexts(
    '{"jsonrpc":"2.0","id":1,"result":{"fault":1},"fault":"x","busy":true,"refused":{"status":9999}}',
  )
  assert.ok(taken && 'kind' in taken && taken.kind === 'response')
  assert.deepEqual(taken.raw, { jsonrpc: '2.0', id: 1, result: { fault: 1 } })
})

test('what exceeds a limit names the calls that it answers, and no others', () => {
  const answersOf = (text: string) =>
    readTexts(text).flatMap((taken) => ('fault' in taken ? [taken.answers] : []))
  const x = deep(20_000)
  assert.deepEqual(answersOf(`{"jsonrpc":"2.0","id":7,"result":${x}}`), [[7]])
  assert.deepEqual(answersOf(`{"result":${x},"id":"a\\u0062"}`), [['ab']])
  assert.deepEqual(
    answersOf(`[{"id":1,"result":${x}},{"id":2,"method":"x"},{"method":"y"},{"error":{},"id":3}]`),
    [[1, 3]],
  )
  assert.deepEqual(answersOf(`{"method":"notifications/x","params":${x}}`), [[]])
  assert.deepEqual(answersOf(`{"id":1,"result":{"id":2,"x":${x}}}`), [[1]])
  assert.deepEqual(answersOf('{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}'), [[1]])
  assert.deepEqual(readTexts('no JSON'), [])
})
