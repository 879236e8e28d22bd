import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seldom } from '../../src/telemetry/seldom.ts'

test('something is said once in a while for each key, with how often it was not', () => {
  let now = 0
  const said: string[] = []
  const say = seldom<string>(
    1000,
    (line, { leftOut }) => said.push(`${line} ${leftOut ?? '-'}`),
    () => now,
  )
  for (const [at, key, line] of [
    [0, 'a', 'first'],
    [1, 'a', 'second'],
    [999, 'a', 'third'],
    [999, 'b', 'other'],
    [1000, 'a', 'fourth'],
    [2000, 'a', 'fifth'],
  ] as const) {
    now = at
    say(key, line)
  }
  assert.deepEqual(said, ['first -', 'other -', 'fourth 2', 'fifth -'])
  for (let i = 0; i < 5000; i++) say(`k${i}`, 'x')
  say('a', 'after')
  assert.equal(said.at(-1), 'after -')
})
