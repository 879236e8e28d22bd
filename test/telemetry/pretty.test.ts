import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prettyForm } from '../../src/telemetry/pretty.ts'

const printed = (record: object, color = false) => {
  const line = `${JSON.stringify({ level: 'info', time: '2026-01-02T03:04:05.006Z', ...record })}\n`
  const text = prettyForm(color)(line)
  return text.replace(/^\[\d\d:\d\d:05\.006\] /, '')
}

test('a record is a line with its plain fields, and the others below it', () => {
  assert.equal(printed({ msg: 'listening' }), 'INFO: listening\n')
  assert.equal(
    printed({ port: 5235, prefixes: ['/a', '/b'], tls: { cert: 'x' }, msg: 'listening' }),
    'INFO: listening port=5235 prefixes=/a,/b\n    tls: {\n      "cert": "x"\n    }\n',
  )
  assert.equal(printed({ level: 'warn', text: 'two\nlines' }), 'WARN: text="two\\nlines"\n')
  const long = 'x'.repeat(201)
  assert.equal(
    printed({ long, all: [long] }),
    `INFO:\n    long: "${long}"\n    all: [\n      "${long}"\n    ]\n`,
  )
})

test('an error has the lines of its stack, without control characters', () => {
  const err = { type: 'Error', message: 'a', stack: 'Error: a\u001b[2J\n    at x' }
  assert.equal(
    printed({ err, msg: 'failed' }),
    'INFO: failed\n    err: {\n      "type": "Error",\n      "message": "a",\n      "stack":\n          Error: a[2J\n              at x\n    }\n',
  )
})

test('what clients choose steers no terminal', () => {
  assert.equal(
    printed({ tool: '\u009b31m\u202e', all: [{ a: '\u0085' }] }),
    'INFO: tool="\\u009b31m\\u202e"\n    all: [\n      {\n        "a": "\\u0085"\n      }\n    ]\n',
  )
})

test('levels, messages and names have colors where they are wanted', () => {
  assert.equal(
    printed({ level: 'fatal', port: 1, tls: {}, msg: 'x' }, true),
    '\u001b[41mFATAL\u001b[49m: \u001b[36mx\u001b[39m \u001b[90mport=\u001b[39m1\n    \u001b[35mtls\u001b[39m: {}\n',
  )
})
