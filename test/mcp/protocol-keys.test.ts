import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../src/json/index.ts'
import { ProtocolKeys } from '../../src/mcp/protocol.ts'
import { sample } from '../support/rest.ts'

function faultOf(text: string, whole = true): string | undefined {
  const keys = new ProtocolKeys(whole)
  parse(text, keys)
  return keys.fault
}

const CALL =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"Name":"b","NAME":1},"_meta":{"progressToken":1}}}'

test('a plain message has nothing to refuse, whatever its arguments are called', () => {
  assert.equal(faultOf(CALL), undefined)
  assert.equal(faultOf(`[${CALL},${CALL}]`), undefined)
  assert.equal(
    faultOf('{"jsonrpc":"2.0","id":1,"result":{"Result":1,"result":2,"RESULT":{"id":1,"Id":2}}}'),
    undefined,
  )
  assert.equal(faultOf('{"jsonrpc":"2.0","id":1,"method":"x","params":{"title":"a","Title2":1}}'), undefined)
})

/** Spellings that some reader of JSON takes for the key. */
const SPELLINGS: ((key: string) => string)[] = [
  (key) => key,
  (key) => key.toUpperCase(),
  (key) => key[0]?.toUpperCase() + key.slice(1),
  (key) => `${key}\0`,
  (key) => `\0${key}`,
  (key) => ` ${key}`,
  (key) => `${key}\t`,
  (key) => `\u200b${key}`,
  (key) => `${key}\ufeff`,
  (key) => `${key}\u0301`,
  (key) =>
    [...key].map((c) => (/[a-z]/.test(c) ? String.fromCharCode(c.charCodeAt(0) + 0xfee0) : c)).join(''),
  (key) => key.replace('s', 'ſ').replace('k', '\u212a').replace('i', 'ı'),
  (key) => `${key}${'\0'.repeat(5000)}`,
]
const PLACES: [string, (members: string) => string][] = [
  ['method', (members) => `{"jsonrpc":"2.0","id":1,${members}}`],
  ['params', (members) => `{"jsonrpc":"2.0","id":1,${members}}`],
  ['id', (members) => `{"jsonrpc":"2.0",${members},"method":"ping"}`],
  ['result', (members) => `{"jsonrpc":"2.0","id":1,${members}}`],
  ['name', (members) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${members}}}`],
  ['arguments', (members) => `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${members}}}]`],
  ['uri', (members) => `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{${members}}}`],
  ['_meta', (members) => `{"jsonrpc":"2.0","id":1,"method":"x","params":{${members}}}`],
  ['progressToken', (members) => `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{${members}}}}`],
  [
    'name',
    (members) => `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{${members}}}}`,
  ],
]

/** Writes a key with some of its characters escaped. */
function written(key: string, escapes: readonly boolean[]): string {
  const units = Array.from({ length: key.length }, (_, i) => key[i] as string)
  const unit = (c: string, i: number) =>
    escapes[i % escapes.length]
      ? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
      : JSON.stringify(c).slice(1, -1)
  return `"${units.map(unit).join('')}"`
}

test('two spellings of one key of the protocol are refused, in either order and however escaped', () => {
  const spelling = fc.constantFrom(...SPELLINGS)
  const escapes = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(
      fc.constantFrom(...PLACES),
      spelling,
      spelling,
      escapes,
      escapes,
      ([key, message], one, two, a, b) => {
        const text = message(`${written(one(key), a)}:{},${written(two(key), b)}:{}`)
        assert.notEqual(faultOf(text), undefined, text)
      },
    ),
    { numRuns: sample(2000) },
  )
})

test('a key that is only similar to one of the protocol is refused also alone', () => {
  for (const [key, message] of PLACES.filter(([name]) => name !== 'progressToken'))
    for (const spell of SPELLINGS.slice(1)) {
      const text = message(`${JSON.stringify(spell(key))}:{}`)
      if (spell(key) !== key) assert.notEqual(faultOf(text), undefined, text)
    }
})

test('of a server only what makes the message is judged', () => {
  assert.equal(
    faultOf('{"jsonrpc":"2.0","method":"notifications/x","params":{"name":1,"Name":2}}', false),
    undefined,
  )
  assert.notEqual(faultOf('{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}', false), undefined)
  assert.notEqual(faultOf('{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', false), undefined)
})
