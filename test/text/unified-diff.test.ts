import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unifiedDiff } from '../../src/text/unified-diff.ts'
import { sample } from '../support/rest.ts'

/** What patch(1) does with a unified diff: every line that it takes or passes has to be there. */
function patch(before: string, diff: string): string {
  const lines = before.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const out: string[] = []
  let at = 0
  const body = diff.match(/[^\n]*\n/g)!.slice(2)
  for (const [i, line] of body.entries()) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n$/.exec(line)
    if (head) {
      const start = Number(head[1]) - (head[2] === '0' ? 0 : 1)
      while (at < start) out.push(lines[at++]!)
      assert.equal(out.length, Number(head[3]) - (head[4] === '0' ? 0 : 1))
    } else if (!line.startsWith('\\')) {
      const text = body[i + 1]?.startsWith('\\ No newline') ? line.slice(1, -1) : line.slice(1)
      if (line[0] !== '+') assert.equal(lines[at++], text)
      if (line[0] !== '-') out.push(text)
    }
  }
  return [...out, ...lines.slice(at)].join('')
}

const text = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', 'd', '', ' x', '-', '+'), { maxLength: 40 }), fc.boolean())
  .map(([lines, end]) => lines.join('\n') + (end ? '\n' : ''))

test('a patch by the difference of any two texts gives the second', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = unifiedDiff('a', 'b', before, after)
      if (before === after) assert.equal(diff, '')
      else {
        assert.ok(diff.startsWith('--- a\n+++ b\n@@'))
        assert.equal(patch(before, diff), after)
      }
    }),
    { numRuns: sample(500) },
  )
})

test('the shortest way is found, with three lines around it', () => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}\n`)
  const after = lines.flatMap((line, i) => (i === 10 ? [] : i === 20 ? [line, 'new\n'] : [line]))
  const context = (from: number, to: number) => lines.slice(from, to).map((line) => ` ${line}`)
  assert.equal(
    unifiedDiff('a', 'b', lines.join(''), after.join('')),
    [
      '--- a\n+++ b\n@@ -8,7 +8,6 @@\n',
      ...context(7, 10),
      '-line 10\n',
      ...context(11, 14),
      '@@ -19,6 +18,7 @@\n',
      ...context(18, 21),
      '+new\n',
      ...context(21, 24),
    ].join(''),
  )
})

test('large texts without a line in common are replaced as a whole', () => {
  const many = (letter: string) => `${letter}\n`.repeat(50_000)
  const diff = unifiedDiff('a', 'b', many('x'), many('y'))
  assert.equal(patch(many('x'), diff), many('y'))
})
