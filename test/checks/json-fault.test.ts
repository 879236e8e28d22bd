import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonFault } from '../../src/checks/json-fault.ts'
import { sample } from '../support/rest.ts'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('a fault is found exactly where JSON.parse fails', () => {
  const piece = fc.constantFrom(
    ...'{ } [ ] , : "a" " 1 - 01 1.5e3 true nul \\ "\\u00e9" "\\x"'.split(' '),
    ' ',
    '\n',
    '"\t"',
  )
  const soup = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(fc.oneof(soup, fc.string(), fc.json()), (text) => {
      assert.equal(jsonFault(text) === undefined, isJson(text), text)
    }),
    { numRuns: sample(3000) },
  )
})

test('what stands before the fault can be completed', () => {
  const cases: [string, number, RegExp][] = [
    ['', 0, /a value should stand here, but the text ends/],
    ['{"a":1,}', 7, /a key in double quotes/],
    ['[1 2]', 3, /`,` or `\]` should stand here, but there is `2`/],
    ['{"a" 1}', 5, /`:` should stand here/],
    ['{"a":x}', 5, /there is `x`/],
    ['{} {}', 3, /should end here/],
    ['[1', 2, /the text ends/],
    ["{'a':1}", 1, /a key in double quotes should stand here, but there is `'a'`/],
  ]
  for (const [text, offset, message] of cases) {
    const fault = jsonFault(text)
    assert.equal(fault?.offset, offset, text)
    assert.match(fault.message, message)
  }
})

test('deep nesting is read without recursion', () => {
  const depth = 200_000
  assert.equal(jsonFault('['.repeat(depth) + ']'.repeat(depth)), undefined)
  assert.equal(jsonFault('['.repeat(depth))?.offset, depth)
})
