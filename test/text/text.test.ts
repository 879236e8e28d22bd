import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  canonicalHeader,
  hiddenIn,
  isSecretHeader,
  isSecretName,
  isSecretParameter,
  PIECE,
  paced,
  pause,
  pauseFor,
  shellWords,
  sizeText,
  timeText,
  withoutHidden,
} from '../../src/text/index.ts'

test('sizes, times and header names are written as people write them', () => {
  assert.deepEqual([10 * 2 ** 20, 1536, 2048, 100].map(sizeText), [
    '10 MiB',
    '1536 bytes',
    '2 KiB',
    '100 bytes',
  ])
  assert.deepEqual([30_000, 1500].map(timeText), ['30 s', '1500 ms'])
  assert.deepEqual(['x-trace-id', 'ETAG', 'x--y'].map(canonicalHeader), ['X-Trace-Id', 'Etag', 'X--Y'])
})

test('names of secrets, and names that only look like them', () => {
  const names: [(name: string) => boolean, secret: string[], open: string[]][] = [
    [
      isSecretHeader,
      ['Authorization', 'Proxy-Authorization', 'Cookie', 'X-Auth', 'X-API-Key', 'X-CSRF-Token'],
      ['X-Author', 'X-Authority', 'Idempotency-Key', 'Accept', 'X-Session-Kind'],
    ],
    [isSecretParameter, ['key', 'api_key', 'sig', 'x-auth'], ['keyword', 'author', 'monkey', 'design']],
    [
      isSecretName,
      ['DB_PW', 'AUTHORIZATION', 'AUTH', 'API_TOKEN', 'passwd'],
      ['AUTHOR', 'AUTHORITY', 'DESIGN'],
    ],
  ]
  for (const [isSecret, secret, open] of names) {
    assert.deepEqual(secret.filter(isSecret), secret)
    assert.deepEqual(open.filter(isSecret), [])
  }
})

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

test('of those that pause, each turn resumes one, in their order', async () => {
  const resumed: number[] = []
  const all = [1, 2, 3].map((each) => pause().then(() => resumed.push(each)))
  const counts: number[] = []
  while (resumed.length < 3) {
    await setImmediate()
    counts.push(resumed.length)
  }
  await Promise.all(all)
  assert.deepEqual(resumed, [1, 2, 3])
  assert.deepEqual(counts, [1, 2, 3])
})

test('only what is large is paused for: a text, or all that is in a value', async () => {
  const half = 'x'.repeat(PIECE / 2)
  for (const small of [undefined, null, 1, half, { half }, [[half]], 'x'.repeat(PIECE)])
    assert.equal(pauseFor(small), undefined)
  for (const large of ['x'.repeat(PIECE + 1), { a: [half], b: { half } }, Array(PIECE + 1).fill(0)])
    assert.ok(pauseFor(large) instanceof Promise)
  await pause()
})

test('a loop pauses once for each piece', () => {
  const pace = paced()
  const pauses = Array.from({ length: 10 }, () => pace(PIECE / 4) !== undefined)
  assert.deepEqual(pauses, [false, false, false, true, false, false, false, true, false, false])
})

test('characters that nobody sees are found and left out', () => {
  const cases: [string, string, string][] = [
    ['a\u0000b', 'ab', 'U+0000'],
    ['a\u001bb', 'ab', 'U+001B'],
    ['a\u0085b', 'ab', 'U+0085'],
    ['a\u200bb', 'ab', 'U+200B'],
    ['a\u200db', 'ab', 'U+200D'],
    ['\u202eab\u202c', 'ab', 'U+202E'],
    ['\u2066ab\u2069', 'ab', 'U+2066'],
    ['\ufeffab', 'ab', 'U+FEFF'],
    ['ab\u{e0041}\u{e007f}', 'ab', 'U+E0041'],
    ['ab\u{e0100}', 'ab', 'U+E0100'],
  ]
  for (const [text, shown, first] of cases) {
    assert.equal(withoutHidden(text), shown)
    assert.equal(hiddenIn(text), first)
  }
})

test('what belongs to a language stays', () => {
  for (const text of [
    'two\tcells\r\nand lines\n',
    'é ä 日本語 العربية',
    '\u{1f469}\u200d\u{1f33e} \u{1f469}\u{1f3fd}\u200d\u{1f4bb} \u2764\ufe0f\u200d\u{1f525}',
    'می\u200cخواهم',
    'क्\u200dष',
  ]) {
    assert.equal(withoutHidden(text), text)
    assert.equal(hiddenIn(text), undefined)
  }
})
