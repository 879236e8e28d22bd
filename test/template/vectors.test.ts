import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure, readVectors, type Vector } from './vectors.ts'

const vectors = readVectors('test/vectors/go-template.jsonl')
/** Random templates that were run through Go 1.19. */
const more = readVectors('test/vectors/go-more.jsonl')
/** Edges of fmt and Sprig 3.2, run through them; camelcase is that of xstrings 1.5, which Sprig 3.3 has. */
const sprig = readVectors('test/vectors/sprig-more.jsonl')
const groups = new Map<string, Vector[]>()
for (const vector of [...vectors, ...more, ...sprig])
  groups.set(vector.group, [...(groups.get(vector.group) ?? []), vector])

for (const [group, members] of groups) {
  // `unla` cases show what another gateway does to values, and are no rule for this one.
  const run = members.filter(({ mode }) => mode !== 'unla')
  test(`vectors of Go: ${group}, ${run.length} run, ${members.length - run.length} of unla left out`, () => {
    const failed = run.flatMap((vector) => {
      const fault = failure(vector)
      return fault === undefined ? [] : [`${vector.id}: ${fault}`]
    })
    assert.deepEqual(failed, [])
  })
}

test('the file of vectors is whole', () => {
  assert.equal(vectors.filter(({ mode }) => mode !== 'unla').length, 492)
  assert.equal(vectors.length, 512)
})
