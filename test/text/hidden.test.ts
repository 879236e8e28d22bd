import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hiddenIn, withoutHidden } from '../../src/text/index.ts'

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
