import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FORMATS } from '../../src/cli/validate/report.ts'
import {
  finding,
  formatGithub,
  formatJson,
  formatJunit,
  formatSarif,
  formatText,
} from '../../src/findings/index.ts'
import { run, temporaryFolder } from '../support/process.ts'

/** Escape sequences of 7 and 8 bits, what rings, deletes and turns text around. */
const STEERING = '\x1b[31m\x1b]0;t\x07\x9b2J\x9d\x7f\x00\u202e\u2066\u200f\u2028'
/** Any of them, and CR, which goes back to the start of a line. */
const STEERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200f\u2028\u202e\u2066]/

const position = { line: 1, column: 1, offset: 0 }
const range = { start: position, end: { line: 1, column: 3, offset: 2 } }
const one = finding('unknown-key', `a${STEERING}.yaml`, `key ${STEERING}\r::error::x`, {
  range,
  hint: `not ${STEERING}`,
  related: [{ file: `b${STEERING}`, range, message: STEERING }],
  fix: { range, text: STEERING },
})

for (const [name, format] of Object.entries({
  text: () => formatText([one], new Map([[one.file, `${STEERING}: 1`]]), { color: false }),
  json: () => formatJson([one]),
  sarif: () => formatSarif([one], '1'),
  github: () => formatGithub([one]),
  junit: () => formatJunit([one], { files: [one.file], failure: STEERING }),
}))
  test(`findings as ${name} do not steer a terminal`, () => {
    const text = format()
    assert.doesNotMatch(text, STEERS)
    assert.match(text, /unknown-key/)
  })

test('JSON still says what the file says', () => {
  assert.equal(JSON.parse(formatJson([one])).findings[0].message, one.message)
  assert.equal(
    JSON.parse(formatSarif([one], '1')).runs[0].results[0].fixes[0].artifactChanges[0].replacements[0]
      .insertedContent.text,
    STEERING,
  )
})

test('an annotation stays one line, with its hint', () => {
  const plain = finding('unknown-key', 'a.yaml', 'first\nsecond', { hint: 'third' })
  assert.equal(formatGithub([plain]), '::error file=a.yaml,title=unknown-key::first%0Asecond%0Athird\n')
})

test('no command prints them from a configuration', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  const escaped = '\\e[31m\\x9b2J\\u202e'
  writeFileSync(
    file,
    `name: a
routers: [{server: s, prefix: /a}]
servers: [{name: s}]
tools:
  - {name: get, endpoint: "http://localhost/{{.Args.x | nothing \`${escaped}\`}}", args: [{name: "x", position: path}]}
  - {name: post, method: POST, endpoint: "http://localhost/", requestBody: "${escaped}"}
"k${escaped}": 1
`,
  )
  for (const args of [
    ...Object.keys(FORMATS).map((format) => ['validate', file, '--format', format]),
    ['lint-templates', file],
    ['render', file, 'post'],
    ['render', file, 'post', '--format', 'json'],
    ['render', file, `none\x1b[31m`],
  ]) {
    const { stdout, stderr } = await run(t, args)
    assert.doesNotMatch(stdout + stderr, STEERS, args.join(' '))
    assert.notEqual(stdout + stderr, '')
  }
})
