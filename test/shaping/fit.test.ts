import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Json, parseVerbatim, stringify } from '../../src/json/index.ts'
import {
  compileShaping,
  nothingOmitted,
  type Shaping,
  type ShapingTexts,
} from '../../src/json/shaping/index.ts'
import { sample } from '../support/rest.ts'

function shaping(texts: ShapingTexts): Shaping {
  const made = compileShaping(texts, 100_000)
  assert.ok(!Array.isArray(made))
  return made
}

async function present(texts: ShapingTexts, value: unknown) {
  const made = shaping(texts)
  const omitted = nothingOmitted()
  const left = made.apply(parseVerbatim(JSON.stringify(value)), omitted)
  return made.present(left, omitted)
}

const row = (id: number, extra = {}) => ({ id, name: `plant ${id}`, ...extra })
const rows = (count: number, extra = {}) => Array.from({ length: count }, (_, i) => row(i + 1, extra))
const MORE = 'For the rest, call again with arguments that ask for less, such as a filter or another page.'

test('what is short enough is as it was', async () => {
  assert.deepEqual(await present({}, { a: [1, 2] }), {
    text: '{"a":[1,2]}',
    notice: undefined,
    value: { a: [1, 2] },
  })
})

test('lists lose their last items first, the longest list first, and the notice says how many are left', async () => {
  const { text, notice } = await present(
    { maxChars: 600 },
    { total: 1200, tags: ['a', 'b'], items: rows(1200) },
  )
  const { items, ...rest } = JSON.parse(text)
  assert.deepEqual(rest, { total: 1200, tags: ['a', 'b'] })
  assert.ok(text.length <= 600 && text.length > 560, `${text.length}`)
  assert.deepEqual(items, rows(items.length))
  assert.equal(notice, `Shortened: \`items\` has the first ${items.length} of 1,200 items. ${MORE}`)
})

test('maxItems holds for lists at every depth', async () => {
  const { text, notice } = await present({ maxItems: 2 }, [
    { labels: [1, 2, 3] },
    { labels: [1, 2, 3, 4, 5] },
    { labels: [] },
  ])
  assert.equal(text, '[{"labels":[1,2]},{"labels":[1,2]}]')
  assert.equal(
    notice,
    `Shortened: the list has the first 2 of 3 items; \`[].labels\` has the first 2 of up to 5 items. ${MORE}`,
  )
})

test('where one item is too long, long strings are cut and short ones are not', async () => {
  const { text, notice } = await present({ maxChars: 1000 }, [
    row(1, { body: 'x'.repeat(5000), log: 'y'.repeat(900) }),
    row(2),
  ])
  const [{ body, log, name }, ...others] = JSON.parse(text)
  assert.deepEqual([name, others], ['plant 1', []])
  assert.equal(body.length, log.length)
  assert.ok(text.length <= 1000 && text.length > 950, `${text.length}`)
  assert.equal(
    notice,
    `Shortened: the list has the first 1 of 2 items; 2 strings are cut to ${body.length} characters. ${MORE}`,
  )
})

test('a value of many members keeps the first ones', async () => {
  const wide = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`member${i}`, i]))
  const { text, notice } = await present({ maxChars: 500 }, wide)
  assert.ok(text.length <= 500)
  assert.ok(Object.keys(JSON.parse(text)).length > 20)
  assert.equal(notice, `Shortened: what had no room is left out. ${MORE}`)
})

test('any value becomes JSON within the limit, unchanged where it fits', async () => {
  const texts = fc.oneof(
    fc.string(),
    fc.string({ minLength: 200, maxLength: 2000 }),
    fc.constant('"\\\n'.repeat(300)),
  )
  const value = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom<Json>(null, true, 12345678901234567890n),
      texts,
      fc.array(tie('value'), { maxLength: 20 }),
      fc.dictionary(fc.string({ maxLength: 300 }), tie('value'), { maxKeys: 20 }) as fc.Arbitrary<Json>,
    ),
  })).value
  await fc.assert(
    fc.asyncProperty(value, fc.integer({ min: 500, max: 3000 }), async (any, most) => {
      const made = shaping({ maxChars: most })
      const source = stringify(any)
      const { text, notice } = await made.present(parseVerbatim(source), nothingOmitted())
      assert.ok(text.length <= most, `${text.length} of ${most}`)
      parseVerbatim(text)
      if (source.length <= most) assert.equal(text, source)
      else assert.match(notice!, /^Shortened: /)
    }),
    { numRuns: sample(300) },
  )
})

test('a text that is not JSON ends with a whole line', async () => {
  const text = 'line of text\n'.repeat(100)
  const shown = await shaping({ maxChars: 505 }).presentText(text)
  assert.equal(shown.text, `${'line of text\n'.repeat(37)}line of text`)
  assert.equal(shown.notice, `Shortened: this is the beginning, 493 of 1,300 characters. ${MORE}`)
  const list = await shaping({ maxChars: 500 }).presentText(JSON.stringify(rows(100)))
  assert.deepEqual(JSON.parse(list.text), rows(JSON.parse(list.text).length))
})

test('csv and markdown have a column for each member, with what is beside the list behind them', async () => {
  const answer = {
    total_count: 3,
    items: [
      { id: 1, title: 'a "quoted", title', user: { login: 'x' }, labels: ['p1', 'bug'] },
      { id: 2, title: 'two\nlines | bars', user: null, nested: [{ a: 1 }] },
    ],
  }
  assert.deepEqual(await present({ format: 'csv' }, answer), {
    text: 'id,title,user.login,labels,user,nested\n1,"a ""quoted"", title",x,p1; bug,,\n2,"two\nlines | bars",,,,"[{""a"":1}]"',
    beside: '{"total_count":3}',
    notice: undefined,
    value: answer,
  })
  const { text } = await present({ format: 'markdown', select: 'items[].{id, title}' }, answer)
  assert.equal(text, '| id | title |\n| --- | --- |\n| 1 | a "quoted", title |\n| 2 | two lines \\| bars |')
  assert.equal((await present({ format: 'csv' }, { a: 1, b: { c: 2 } })).text, 'a,b.c\n1,2')
  assert.equal((await present({ format: 'csv' }, [1, 2])).text, 'value\n1\n2')
  const twice = [{ 'b.c': 1, b: { c: 2 }, d: {} }]
  assert.equal((await present({ format: 'csv' }, twice)).text, 'b.c,b,d\n1,"{""c"":2}",{}')
  assert.equal((await present({ format: 'markdown' }, 'text')).text, '"text"')
})

test('any cell of a table is read as it was', async () => {
  const cell = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '|', '\\', '"', ',', ' ', '\n', '\r', '=') }),
    fc.constantFrom('', ' ', '=1+1', '\\|', '\\\\|', 'a\r', '\rb'),
  )
  const table = fc
    .integer({ min: 1, max: 3 })
    .chain((columns) =>
      fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 4 }),
    )
  const objects = (rows: string[][]) =>
    rows.map((cells) => Object.fromEntries(cells.map((one, i) => [`c${i}`, one])))
  await fc.assert(
    fc.asyncProperty(table, async (rows) => {
      const { text } = await present({ format: 'csv' }, objects(rows))
      const [head, ...read] = readCsv(text)
      assert.deepEqual(head, Object.keys(objects(rows)[0]!))
      assert.deepEqual(read, rows)
      const lines = (await present({ format: 'markdown' }, objects(rows))).text.split(/[\r\n]/)
      assert.equal(lines.length, rows.length + 2)
      for (const [i, cells] of rows.entries())
        assert.deepEqual(
          readMarkdown(lines[i + 2]!).map((one) => one.replaceAll('\\', '').trim()),
          cells.map((one) =>
            one
              .split(/[\r\n]/)
              .map((line) => line.trim())
              .filter(Boolean)
              .join(' ')
              .replaceAll('\\', '')
              .trim(),
          ),
        )
    }),
  )
})

/** RFC 4180: no line is skipped. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, bare, end] of `${text}\n`.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/g)) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? bare!)
    if (end === '\n') rows.push([])
  }
  return rows.slice(0, -1)
}

/** GFM: a backslash escapes what follows, also another one, before cells are told apart. */
function readMarkdown(line: string): string[] {
  const cells = [...line.slice(1).matchAll(/((?:\\.|[^|\\])*)\|/g)].map(([, one]) => one!)
  return cells.map((one) => one.replace(/\\([\\|])/g, '$1'))
}

test('a table has as many rows as there is room for', async () => {
  const { text, notice } = await present({ format: 'csv', maxChars: 500 }, rows(1000))
  const lines = text.split('\n')
  assert.ok(text.length <= 500 && text.length > 480)
  assert.equal(lines.at(-1), `${lines.length - 1},plant ${lines.length - 1}`)
  assert.equal(notice, `Shortened: the list has the first ${lines.length - 1} of 1,000 items. ${MORE}`)
})

test('a mask of which nothing is found says what there is', async () => {
  const { text, notice } = await present({ select: 'items[].id' }, { error: 'no such repository', code: 7 })
  assert.equal(text, '{}')
  assert.equal(notice, 'The response has none of the members that are selected. It has `error`, `code`.')
})
