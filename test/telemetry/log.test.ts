import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prettyForm } from '../../src/telemetry/log.ts'
import { seldom, sparing } from '../../src/telemetry/seldom.ts'

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
