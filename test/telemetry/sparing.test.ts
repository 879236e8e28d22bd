import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sparing } from '../../src/telemetry/sparing.ts'

test('a flood of lines is cut to a burst and a rate, and the next line says how many were left out', () => {
  let time = 0
  const lines: { line: number; leftOut?: number }[] = []
  const write = sparing<number>(
    (line, left) => lines.push({ line, ...left }),
    () => time,
  )
  for (let i = 0; i < 5_000; i++) write(i)
  assert.equal(lines.length, 1_000)
  time = 1_000
  for (let i = 5_000; i < 10_000; i++) write(i)
  assert.equal(lines.length, 1_200)
  assert.deepEqual(lines[1_000], { line: 5_000, leftOut: 4_000 })
  time = 100_000
  write(10_000)
  assert.deepEqual(lines.at(-1), { line: 10_000, leftOut: 4_800 })
})
