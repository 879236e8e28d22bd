import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintPractice } from '../../src/checks/practice/index.ts'

function hiddenIn(description: string, env: Record<string, string> = {}): string[] {
  const text = `name: s\nservers: [{name: s, description: ${description}}]\nrouters: [{server: s, prefix: /s}]\n`
  const found = lintPractice(
    readConfiguration({ file: 's.yaml', text }, env) as Parameters<typeof lintPractice>[0],
  )
  return found.flatMap(({ code, range }) => (code === 'suspicious-text' ? [`${range?.start.line}`] : []))
}

for (const [what, description, env] of [
  ['as it is written', 'A\u202eB'],
  ['by an escape of four digits', '"A\\u200bB"'],
  ['by an escape of two', '"A\\x07B"'],
  ['by an escape of a letter', '"A\\eB"'],
  ['in the value of a variable', '"A${HIDDEN}B"', { HIDDEN: '\u2066' }],
] as const)
  test(`a character that nobody sees is reported: ${what}`, () => {
    assert.deepEqual(hiddenIn(description, env), ['2'])
  })

test('nothing is reported of a text in which all is seen', () => {
  for (const plain of ['A and B', '"A\\tB"', '"A${SEEN}B"', 'Größe', "'A\\u200bB'"])
    assert.deepEqual(hiddenIn(plain, { SEEN: 'x' }), [])
})
