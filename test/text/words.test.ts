import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeText, timeText } from '../../src/text/index.ts'
import { canonicalHeader } from '../../src/tools/root.ts'

test('sizes, times and header names are written as people write them', () => {
  assert.deepEqual([10 * 2 ** 20, 1536, 2048, 100].map(sizeText), [
    '10 MiB',
    '1536 bytes',
    '2 KiB',
    '100 bytes',
  ])
  assert.deepEqual([30_000, 1500].map(timeText), ['30 s', '1500 ms'])
  assert.deepEqual(['x-trace-id', 'ETAG', 'x--y'].map(canonicalHeader), ['X-Trace-Id', 'Etag', 'X--Y'])
})
