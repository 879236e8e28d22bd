import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { linkTargets } from '../../src/net/index.ts'

test('links are found by their relation (RFC 8288)', () => {
  const cases: [header: string, targets: string[]][] = [
    ['<https://a/?page=2>; rel="next", <https://a/?page=9>; rel="last"', ['https://a/?page=2']],
    ['<https://a/?page=1>; rel="prev", </b>;rel=next', ['/b']],
    ['</a>; REL="start Next"', ['/a']],
    ['</a,b;c>; title="a, <b>; rel=\\"next\\""; rel=next', ['/a,b;c']],
    // The first `rel` counts (3.3), and a link of another context is none of the answer (3.2).
    ['</a>; rel=prev; rel=next', []],
    ['</a>; rel=next; anchor="/other"', []],
    ["</a>; title*=UTF-8'de'n%c3%a4chstes; rel=next", ['/a']],
    [' , ,</a> ; rel = "next" ; crossorigin', ['/a']],
    ['</a>; rel=nextish', []],
    ['</a>', []],
    ['</a>; rel="next', ['/a']],
    ['</a; rel=next', []],
    ['no link, </a>; rel=next', []],
    ['', []],
  ]
  for (const [header, targets] of cases) assert.deepEqual(linkTargets(header, 'next'), targets, header)
})

const token = fc.stringMatching(/^[a-z]{1,8}$/)
const text = fc.string({ maxLength: 20 })
const target = fc.stringMatching(/^[ -=?-~]{0,30}$/)
const link = fc.record({
  target,
  rel: fc.constantFrom('next', 'prev', 'NEXT'),
  quoted: fc.boolean(),
  title: text,
})

test('every link that is written is read again, whatever stands beside it', () => {
  const written = (one: { target: string; rel: string; quoted: boolean; title: string }) =>
    `<${one.target}>; title="${one.title.replace(/["\\]/g, '\\$&')}"; rel=${one.quoted ? `"${one.rel}"` : one.rel}`
  fc.assert(
    fc.property(fc.array(link, { maxLength: 6 }), token, (links, other) => {
      const header = links.map((one) => `${written(one)}; ${other}x`).join(' , ')
      const expected = links.filter(({ rel }) => rel.toLowerCase() === 'next').map((one) => one.target)
      assert.deepEqual(linkTargets(header, 'next'), expected)
    }),
  )
})

test('any text is read to an end', () => {
  const pieces = fc.constantFrom('<', '>', ';', ',', '"', '\\', '=', ' ', 'rel', 'next', 'a', '\u0000', 'é')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 200 }), (parts) => {
      const header = parts.join('')
      for (const found of linkTargets(header, 'next')) assert.ok(header.includes(`<${found}>`))
    }),
  )
})
