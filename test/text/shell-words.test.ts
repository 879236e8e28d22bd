import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { shellWords } from '../../src/text/index.ts'

/** A word to a line of JSON, as bash splits them. */
const lines: [line: string, words: string[]][] = [
  [String.raw`a 'b c' "d \" e" f\ g`, ['a', 'b c', 'd " e', 'f g']],
  [String.raw`$'it\'s' $'a\nb\tc\\d'`, ["it's", 'a\nb\tc\\d']],
  [String.raw`$'\u0021\u00e9' $'\x41\x42' $'\101\60'`, ['!é', 'AB', 'A0']],
  [String.raw`$'\xc3\xa9' $'\U1F600' $'\ca' $'\q\"\?'`, ['é', '😀', '\x01', String.raw`\q"?`]],
  [`x$'y'z $x $ '$'`, ['xyz', '$x', '$', '$']],
]
for (const [line, words] of lines)
  test(`words of a shell: ${line}`, () => assert.deepEqual(shellWords(line), words))

test('ANSI-C quotes are those of bash', () => {
  for (const [line, words] of lines.slice(0, 4)) {
    const script = `printf '%s\\0' ${line}`
    const env = { ...process.env, LC_ALL: 'C.UTF-8' }
    const out = execFileSync('bash', ['-c', script], { encoding: 'utf8', env })
    assert.deepEqual(out.split('\0').slice(0, -1), words)
  }
})

test('a quote that is not closed, and what only a shell can say, are no words', () => {
  for (const line of ["$'a", String.raw`$'a\'`, "'a", 'a | b', 'a $(b)'])
    assert.equal(shellWords(line), undefined, line)
})
