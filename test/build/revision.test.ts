import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changed, revised } from '../../src/build/revision.ts'

type Entry = [key: string, value: { n: number }]

const first = new Map(Array.from({ length: 1000 }, (_, n): Entry => [`key ${n}`, { n }]))

test('revisions are as copies would be, and what was before stays as it was', () => {
  let seed = 11
  const random = (below: number) => {
    seed = (seed * 48271) % 0x7fffffff
    return seed % below
  }
  let map: ReadonlyMap<string, { n: number }> = first
  const copy = new Map(first)
  const kept: [ReadonlyMap<string, { n: number }>, Entry[]][] = []
  for (let run = 0; run < 200; run++) {
    const entries = Array.from({ length: random(4) }, () => {
      const n = random(1100)
      return [`key ${n}`, random(3) ? { n: run } : undefined] as const
    })
    for (const [key, value] of entries)
      if (value) copy.set(key, value)
      else copy.delete(key)
    const next = revised(map, entries)
    const differs = (one: typeof map, other: typeof map) =>
      [...one].filter(([key, value]) => other.get(key) !== value).sort()
    assert.deepEqual(changed(next, map).sort(), differs(next, map))
    assert.deepEqual(changed(map, next).sort(), differs(map, next))
    map = next
    assert.equal(map.size, copy.size)
    assert.deepEqual(new Map(map), copy)
    assert.deepEqual([[...map.keys()].sort(), [...map.values()].length], [[...copy.keys()].sort(), copy.size])
    if (run % 20 === 0) kept.push([map, [...map]])
  }
  for (const [one, entries] of kept) assert.deepEqual([...one], entries)
})

test('what is replaced keeps its place, and nothing to change is the very map', () => {
  const value = { n: -1 }
  const next = revised(first, [
    ['key 3', undefined],
    ['key 3', value],
    ['key 4', undefined],
    ['new', value],
  ])
  const keys = [...first.keys()].filter((key) => key !== 'key 4')
  assert.deepEqual([...next.keys()], [...keys, 'new'])
  assert.deepEqual([next.get('key 3'), next.has('key 4'), next.get('new')], [value, false, value])
  const seen: string[] = []
  for (const [key] of next) seen.push(key)
  next.forEach((_, key) => {
    assert.equal(key, seen.shift())
  })
  assert.equal(revised(next, []), next)
  assert.deepEqual(changed(next, next), [])
})
