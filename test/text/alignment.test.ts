import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alignment } from '../../src/text/index.ts'

const earlier = Array.from({ length: 200 }, (_, i) => ({ i }))

test('lists that are the same lie beside each other', () => {
  const { before, gone } = alignment(earlier, [...earlier])
  assert.deepEqual([before, gone], [earlier.map(({ i }) => i), []])
  assert.deepEqual(alignment([], earlier).before, Array(200).fill(-1))
  assert.deepEqual(alignment(earlier, []), { before: [], gone: earlier.map(({ i }) => i) })
})

test('after what came, went or was replaced, all others are found again', () => {
  const later = [...earlier]
  later.splice(180, 3)
  later[150] = { i: -1 }
  later.splice(100, 0, { i: -1 }, { i: -1 })
  later.splice(20, 1)
  later.push({ i: -1 })
  const { before, gone } = alignment(earlier, later)
  assert.deepEqual(gone, [20, 150, 180, 181, 182])
  assert.deepEqual(
    before,
    later.map(({ i }) => i),
  )
})

test('whatever changes, each item has at most one place, which is its own', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 48271) % 0x7fffffff
    return seed % below
  }
  for (let run = 0; run < 200; run++) {
    const later = [...earlier]
    for (let n = random(8); n > 0; n--) {
      const moved = later.splice(random(later.length), random(50))
      later.splice(
        random(later.length),
        0,
        ...(random(2) ? moved : Array.from({ length: random(50) }, () => ({ i: -1 }))),
      )
    }
    const { before, gone } = alignment(earlier, later)
    for (const [i, at] of before.entries()) if (at >= 0) assert.equal(earlier[at], later[i])
    const places = [...before.filter((at) => at >= 0), ...gone]
    assert.deepEqual(
      places.sort((a, b) => a - b),
      earlier.map(({ i }) => i),
    )
  }
})
