import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Json, parseVerbatim, stringify } from '../../src/json/index.ts'
import { compilePages, type Pages } from '../../src/json/shaping/index.ts'

function compiled(next: string, items?: string): Pages {
  const pages = compilePages({ next, items, max: 10 }, Number.POSITIVE_INFINITY)
  if (Array.isArray(pages)) throw new Error(JSON.stringify(pages))
  return pages
}

function nextIn(next: string, page: Json): string | undefined {
  const made = compiled(next).next
  assert.ok(made.kind === 'url' || made.kind === 'value')
  return made.read(page)
}

test('next is a link, a URL, a value or a number', () => {
  const { kind } = compiled('link').next
  assert.equal(kind, 'link')
  assert.deepEqual(compiled(' page : +1').next, { kind: 'number', query: 'page' })
  assert.equal(compiled('"link"').next.kind, 'url')
  assert.equal(nextIn('links.next', { links: { next: '/2' } }), '/2')
  assert.equal(nextIn('c: meta."next cursor"', { meta: { 'next cursor': 'x' } }), 'x')
  assert.equal(nextIn('after: data[].id', { data: [{ id: 'a' }, { id: 'b' }] }), 'b')
  assert.equal(nextIn('after: data[].id', { data: [] }), undefined)
  assert.equal(nextIn('c: n', parseVerbatim('{"n": 12345678901234567890}')), '12345678901234567890')
  for (const none of [null, '', false, true, [], {}]) assert.equal(nextIn('c: n', { n: none }), undefined)
  assert.equal(nextIn('c: __proto__.a', {}), undefined)
})

test('faults have their place', () => {
  const faults: [next: string, items: string | undefined, where: string][] = [
    ['a, b', undefined, 'next has several paths, where one is expected @3-4'],
    ['c: a.{b}', undefined, 'next has `{…}` or `*`, where one path is expected @0-8'],
    ['*.a', undefined, 'next has `{…}` or `*`, where one path is expected @0-3'],
    ['link', 'x: items', 'items gives a name to the list @0-8'],
    ['link', 'items[]', 'items has `[]`; write the path of the list itself @0-7'],
    ['link', 'a.', 'items ends where a name is expected @2-2'],
  ]
  for (const [next, items, where] of faults) {
    const made = compilePages({ next, items, max: 2 }, 1)
    assert.ok(Array.isArray(made))
    assert.deepEqual(
      made.map(({ path, fault, start, end }) => `${path[1]} ${fault} @${start}-${end}`),
      [where],
    )
  }
})

const name = fc.oneof(fc.string({ minLength: 1, maxLength: 5 }), fc.constantFrom('__proto__', 'a.b', '[]'))

test('the list at any path is found and replaced, and nothing else', () => {
  fc.assert(
    fc.property(
      fc.array(name, { maxLength: 5 }),
      fc.dictionary(name, fc.jsonValue()),
      fc.array(fc.jsonValue()),
      fc.array(fc.jsonValue()),
      (names, beside, items, others) => {
        const path = names.length > 0 ? names.map((one) => JSON.stringify(one)).join('.') : undefined
        const pages = compiled('link', path)
        const page = names.reduceRight<string>((inner, one) => {
          const members = Object.entries(beside).filter(([other]) => other !== one)
          const texts = members.map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)}`)
          return `{${[...texts, `${JSON.stringify(one)}:${inner}`].join()}}`
        }, JSON.stringify(items))
        const value = JSON.parse(page) as Json
        assert.deepEqual(pages.itemsOf(value), JSON.parse(JSON.stringify(items)))
        const made = pages.withItems(value, others as Json[])
        assert.equal(stringify(pages.itemsOf(made)), stringify(others))
        assert.equal(stringify(pages.withItems(made, items as Json[])), stringify(value))
        assert.equal(stringify(value), stringify(JSON.parse(page)))
      },
    ),
  )
})

test('no text of next or items makes an error', () => {
  const texts = fc.oneof(
    fc.string(),
    fc
      .array(fc.constantFrom('a', '.', '[]', ':', '+1', '{', '}', '*', '"', ' '))
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(texts, texts, fc.jsonValue(), (next, items, value) => {
      const pages = compilePages({ next, items, max: 2 }, 1)
      if (Array.isArray(pages)) return
      pages.itemsOf(value as Json)
      if ('read' in pages.next) pages.next.read(value as Json)
    }),
  )
})
