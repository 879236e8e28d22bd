import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  CODES,
  exitCode,
  explain,
  type Finding,
  type FindingCode,
  finding,
  formatText,
  listCodes,
  sortFindings,
} from '../../src/findings/index.ts'

/** A finding over `[start, end)` of a text. */
function over(text: string, start: number, end: number, file = 'a.yaml'): Finding {
  const position = (offset: number) => {
    const before = text.slice(0, offset)
    return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n'), offset }
  }
  return finding('unknown-key', file, 'the message', {
    range: { start: position(start), end: position(end) },
  })
}

/** The lines of the frame around a part of the text. */
function frame(text: string, part: string, width = 60): string[] {
  const start = text.indexOf(part)
  const one = over(text, start, start + part.length)
  const lines = formatText([one], new Map([['a.yaml', text]]), { color: false, width }).split('\n')
  return lines.slice(1, lines.indexOf('', 1))
}

describe('frames', () => {
  test('show the line before and mark the part', () => {
    assert.deepEqual(frame('one: 1\ntwo: 2\nthree: 3', 'two'), ['  1 | one: 1', '  2 | two: 2', '    | ^^^'])
  })

  test('align numbers, and leave out an empty line before', () => {
    assert.deepEqual(frame(`${'x\n'.repeat(9)}bad`, 'bad'), ['   9 | x', '  10 | bad', '     | ^^^'])
    assert.deepEqual(frame('\nbad', 'bad'), ['  2 | bad', '    | ^^^'])
  })

  test('widen tabs, wide letters and what joins into one', () => {
    assert.deepEqual(frame('\ta: b', 'b'), ['  1 |     a: b', '    |        ^'])
    assert.deepEqual(frame('日本: b', 'b'), ['  1 | 日本: b', '    |       ^'])
    assert.deepEqual(frame('é😀x', '😀x'), ['  1 | é😀x', '    |  ^^^'])
    assert.deepEqual(frame('e\u0301: 👨‍👩‍👧 b', 'b'), ['  1 | e\u0301: 👨‍👩‍👧 b', '    |       ^'])
    assert.deepEqual(frame('a: 日本', '日本'), ['  1 | a: 日本', '    |    ^^^^'])
  })

  test('make control characters and turned text harmless', () => {
    assert.deepEqual(frame('a: \u001b[31mred\u202e b', 'b'), [
      '  1 | a: \ufffd[31mred\ufffd b',
      '    |              ^',
    ])
    const said = finding('unknown-key', 'a\u001b.yaml', 'key \u001b[2J', { hint: 'not \u0007' })
    assert.doesNotMatch(formatText([said], new Map(), { color: false }), /[\u001b\u0007]/)
  })

  test('cut a long line around the place', () => {
    const text = `${'a'.repeat(3000)}HERE${'b'.repeat(3000)}`
    const [line, marks] = frame(text, 'HERE')
    assert.ok(line!.length <= 60 && line!.includes('…a') && line!.endsWith('b…'))
    assert.equal(line!.indexOf('HERE'), marks!.indexOf('^^^^'))
    const [end, endMarks] = frame(`${'a'.repeat(100)}HERE`, 'HERE')
    assert.equal(end!.indexOf('HERE'), endMarks!.indexOf('^^^^'))
    assert.ok(end!.endsWith('HERE'))
  })

  test('mark several lines to the end of the first, and the end of a line by one caret', () => {
    assert.deepEqual(frame('ab: |\n  x\n  y', '|\n  x'), ['  1 | ab: |', '    |     ^'])
    const text = 'ab'
    const lines = formatText([over(text, 2, 2)], new Map([['a.yaml', text]]), { color: false }).split('\n')
    assert.deepEqual(lines.slice(1, 3), ['  1 | ab', '    |   ^'])
  })

  test('mark a letter of any line at its column', () => {
    const line = fc.array(fc.constantFrom('a', ' ', '\t', '日', '😀', 'e\u0301', '…', '\u0007'), {
      maxLength: 80,
    })
    fc.assert(
      fc.property(line, line, fc.integer({ min: 40, max: 120 }), (before, after, width) => {
        const text = `${before.join('')}X${after.join('')}`
        const start = before.join('').length
        const output = formatText([over(text, start, start + 1)], new Map([['a.yaml', text]]), {
          color: false,
          width,
        })
        const [shown, marks] = output.split('\n').slice(1, 3)
        // Each caret stands below as many columns as there are before the X.
        const columns = (part: string) => part.replace(/日|😀/gu, '__').replace(/\u0301/gu, '').length
        assert.equal(columns(shown!.slice(0, shown!.indexOf('X'))), marks!.indexOf('^'), output)
        assert.ok(columns(shown!) <= width, output)
      }),
    )
  })
})

describe('text', () => {
  test('has colour only when it is asked for', () => {
    const one = [over('a', 0, 1)]
    assert.match(formatText(one, new Map(), { color: true }), /\u001b\[/)
    assert.doesNotMatch(formatText(one, new Map(), { color: false }), /\u001b/)
  })
})

test('the order is by file and place, whatever came first', () => {
  const text = 'abc'
  const sorted = [
    finding('empty-file', 'a.yaml', 'whole'),
    over(text, 0, 1),
    over(text, 1, 2),
    finding('no-router', 'b.yaml', 'z'),
  ]
  fc.assert(
    fc.property(fc.shuffledSubarray(sorted, { minLength: 4 }), (shuffled) => {
      assert.deepEqual(sortFindings(shuffled), sorted)
    }),
  )
  assert.equal(exitCode(sorted), 1)
  assert.equal(exitCode([finding('no-router', 'b.yaml', 'z')]), 0)
})

test('explain prints what the catalogue says', () => {
  for (const code of Object.keys(CODES) as FindingCode[]) {
    const { severity, title, cause, fix } = CODES[code]
    const text = explain(code, { color: false })
    for (const part of [code, severity, title, cause, fix]) assert.ok(text.includes(part), part)
    assert.ok(listCodes().includes(title))
  }
})
