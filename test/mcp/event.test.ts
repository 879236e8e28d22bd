import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { event } from '../../src/mcp/http.ts'
import { sample } from '../support/rest.ts'

/** JSON with line breaks between its parts, as servers print it for people. */
const message = fc
  .array(
    fc.constantFrom('{', '}', '"\u2028\u2029\u0085"', ':', '\t', ' ', '\n', '\r', '\r\n', 'data: x', ''),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''))

test('every message is one event for the parser of the SDKs, whatever its line breaks', () => {
  fc.assert(
    fc.property(message, fc.integer({ min: 0 }), (text, id) => {
      const read: unknown[] = []
      const parser = createParser({ onEvent: ({ id, data }) => read.push([id, data]) })
      parser.feed(event(text, 'message', String(id)))
      // A stream of events has one kind of line break.
      assert.deepEqual(read, [[String(id), text.replaceAll(/\r\n?/g, '\n')]])
    }),
    { numRuns: sample(2000) },
  )
})
