import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { type Json, type JsonObject, parseVerbatim, stringify } from '../../src/json/index.ts'
import {
  compileMasks,
  compileShaping,
  type Masks,
  type MaskTexts,
  unmatched,
} from '../../src/json/shaping/index.ts'
import { sample } from '../support/rest.ts'

function masks(texts: MaskTexts): Masks {
  const made = compileMasks(texts)
  assert.ok(!Array.isArray(made), JSON.stringify(made))
  return made
}

function shaped(texts: MaskTexts, text: string): string {
  return stringify(masks(texts).apply(parseVerbatim(text)))
}

const ISSUES = `{"total_count": 1e2, "items": [
  {"id": 12345678901234567890, "title": "a", "score": 1.10, "user": {"login": "x", "avatar_url": "u"}},
  {"id": 2, "title": "b", "user": null, "labels": [{"name": "bug"}, {"name": "p1"}]}]}`

test('select keeps the place of what it names, gives what has a name another one, and keeps the text of numbers', () => {
  const select = 'items[].{id, score, title, user: user.login, labels: labels[].name}'
  assert.equal(
    shaped({ select }, ISSUES),
    '{"items":[{"id":12345678901234567890,"score":1.10,"title":"a","user":"x"},' +
      '{"id":2,"title":"b","user":null,"labels":["bug","p1"]}]}',
  )
  const cases: [select: string, value: string, left: string][] = [
    [
      'total_count, items[].user.login, items[].id',
      ISSUES,
      '{"total_count":1e2,"items":[{"user":{"login":"x"},"id":12345678901234567890},{"user":null,"id":2}]}',
    ],
    ['[].{a}', '[{"a":1,"b":2},3,null,[4]]', '[{"a":1},null]'],
    ['[][].a', '[[{"a":1,"b":2}],[]]', '[[{"a":1}],[]]'],
    ['*.a', '{"x":{"a":1,"b":2},"y":[],"z":{"b":1}}', '{"x":{"a":1},"z":{}}'],
    ['*.a, x.b', '{"x":{"a":1,"b":2},"y":{"a":3,"b":4}}', '{"x":{"b":2,"a":1},"y":{"a":3}}'],
    ['b, a', '{"a":1,"b":2}', '{"b":2,"a":1}'],
    [
      'meta: {a, c: b.c}, "odd name".x',
      '{"a":1,"b":{"c":2},"odd name":{"x":3,"y":4}}',
      '{"meta":{"a":1,"c":2},"odd name":{"x":3}}',
    ],
    ['ids: map.*.id', '{"map":{"k":{"id":1},"l":{}}}', '{"ids":{"k":1}}'],
    ['rows: data[]', '{"data":[[1],[2]]}', '{"rows":[[1],[2]]}'],
    ['__proto__.x', '{"__proto__":{"x":1,"y":2}}', '{"__proto__":{"x":1}}'],
    ['{a}', '{"a":1,"b":2}', '{"a":1}'],
    ['a.{b, c}', '{"a":"text"}', '{}'],
    ['items[]', '[1,2]', '[1,2]'],
    ['a', '7', '7'],
  ]
  for (const [mask, value, left] of cases)
    assert.equal(shaped({ select: mask }, value), mask === 'items[]' ? '[]' : left, mask)
})

test('drop leaves members and items out, also at any depth, and comes after select', () => {
  const cases: [drop: string[], value: string, left: string][] = [
    [['**.url'], '{"url":1,"a":{"url":2,"b":[{"url":3,"c":4}]}}', '{"a":{"b":[{"c":4}]}}'],
    [['a.**.b'], '{"b":1,"a":{"b":1,"c":{"b":2,"d":3}}}', '{"b":1,"a":{"c":{"d":3}}}'],
    [['a.{b, c[].d}'], '{"a":{"b":1,"c":[{"d":1,"e":2}]}}', '{"a":{"c":[{"e":2}]}}'],
    [['**.a.**.b', 'x'], '{"x":1,"a":{"y":[{"b":1,"c":2}]},"b":3}', '{"a":{"y":[{"c":2}]},"b":3}'],
    [['*'], '{"a":1}', '{}'],
    [['[]'], '[1,2]', '[]'],
    [['**[]'], '{"a":[1,2],"b":{"c":[3]}}', '{"a":[],"b":{"c":[]}}'],
    [['a[].b'], '{"a":{"b":1}}', '{"a":{"b":1}}'],
  ]
  for (const [drop, value, left] of cases) assert.equal(shaped({ drop }, value), left, drop.join())
  assert.equal(
    shaped({ select: 'items[].user', drop: ['**.avatar_url'] }, ISSUES),
    '{"items":[{"user":{"login":"x"}},{"user":null}]}',
  )
})

test('a mask that cannot be read is reported with its place', () => {
  const cases: [texts: MaskTexts, fault: string, part: string][] = [
    [{ select: '' }, 'ends where a name is expected', ''],
    [{ select: 'a.' }, 'ends where a name is expected', ''],
    [{ select: 'items[.{id}' }, 'has `[` without `]`; `[]` stands for every item', '['],
    [{ select: 'a.{b, c' }, 'has no `}` for this `{`', '{'],
    [{ select: 'a, b}' }, 'has `}` where it is not expected', '}'],
    [{ select: 'a b' }, 'has `b` where it is not expected', 'b'],
    [{ select: 'x: a, x: b' }, 'makes the member `x` twice', 'x: b'],
    [{ select: 'x: a, x.b' }, 'makes the member `x` twice', 'x.b'],
    [{ select: '**.url' }, 'has `**`, which only `drop` can have', '**.url'],
    [{ drop: ['a', 'b: c'] }, 'gives a name to what it leaves out', 'b: c'],
    [{ drop: ['a.**'] }, 'ends in `**`, which needs a name behind it, such as `**.url`', 'a.**'],
    [{ select: '"\\x"' }, 'has a quoted name that is not a JSON string', '"\\x"'],
    [{ select: `${'a.{'.repeat(33)}a` }, 'has braces nested deeper than 32 levels', 'a'],
    [{ select: `${'a,'.repeat(200)}a` }, 'has more than 200 entries', 'a'],
  ]
  for (const [texts, fault, part] of cases) {
    const [found] = compileMasks(texts) as Extract<ReturnType<typeof compileMasks>, unknown[]>
    assert.ok(found, fault)
    const text = found.path[0] === 'select' ? texts.select! : texts.drop![found.path[1]]!
    assert.deepEqual([found.fault, text.slice(found.start, found.end)], [fault, part])
  }
})

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'odd name')
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<Json>(null, true, 7, 'text'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }) as fc.Arbitrary<Json>,
  ),
})).value
/** As what `JSON.parse` makes, whose objects have a prototype. */
const parsed = json.map((value) => JSON.parse(JSON.stringify(value)) as Json)
const quoted = (text: string) => JSON.stringify(text)
const step = fc.oneof(name.map(quoted), fc.constant('*'), fc.constant('[]'))
const path = fc.array(step, { minLength: 1, maxLength: 4 })
const written = (steps: string[]) => steps.join('.').replaceAll('.[]', '[]')

const isLeaf = (value: unknown) => typeof value !== 'object' || value === null
const fits = (pattern: string[], at: string[]): boolean =>
  pattern.length === 0 ||
  (pattern[0] === '**'
    ? fits(pattern.slice(1), at) || (at.length > 0 && fits(pattern, at.slice(1)))
    : at.length > 0 &&
      (pattern[0] === at[0] || (pattern[0] === '*' && at[0] !== '[]')) &&
      fits(pattern.slice(1), at.slice(1)))
/** The paths of a value to its scalars but null, `[]` for items. */
const scalars = (value: Json, at: string[] = []): string[] =>
  isLeaf(value)
    ? value === null
      ? []
      : [at.join()]
    : Array.isArray(value)
      ? value.flatMap((item) => scalars(item, [...at, '[]']))
      : Object.entries(value as JsonObject).flatMap(([key, member]) => scalars(member, [...at, quoted(key)]))

test('of any value, select keeps exactly what a path leads to, and drop leaves exactly that out', () => {
  fc.assert(
    fc.property(parsed, fc.array(path, { minLength: 1, maxLength: 4 }), (value, paths) => {
      const select = paths.map(written).join(', ')
      const all = scalars(value)
      const hits = (at: string) => paths.some((one) => fits(one, at === '' ? [] : at.split(',')))
      const kept = scalars(masks({ select }).apply(value))
      if (!isLeaf(value)) assert.deepEqual(kept.sort(), all.filter(hits).sort())
      const deep = paths.map((one) => ['**', ...one])
      const misses = (at: string) => !deep.some((one) => fits(one, at === '' ? [] : at.split(',')))
      const left = masks({ drop: deep.map(written) }).apply(value)
      assert.deepEqual(scalars(left).sort(), all.filter(misses).sort())
      assert.deepEqual(masks({ drop: deep.map(written) }).apply(left), left)
    }),
    { numRuns: sample(500) },
  )
})

test('any text is a mask or a fault, and a mask is applied to any value', () => {
  const piece = fc.constantFrom('a', 'b', '.', '[', ']', '[]', '{', '}', ',', ':', '*', '**', '"', ' ', '"a"')
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 20 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(text, parsed, (mask, value) => {
      for (const texts of [{ select: mask }, { drop: [mask] }]) {
        const made = compileMasks(texts)
        if (Array.isArray(made)) {
          const [{ start, end }] = made as [(typeof made)[0]]
          assert.ok(start >= 0 && start <= end && end <= mask.length, `${start} to ${end}`)
        } else stringify(made.apply(value))
      }
    }),
    { numRuns: sample(2_000) },
  )
})

/** A strict schema of a value. */
function schemaOf(value: Json): JsonObject {
  if (value === null) return { type: 'null' }
  if (Array.isArray(value))
    return {
      type: 'array',
      minItems: value.length,
      ...(value.length && { items: { anyOf: value.map(schemaOf) } }),
    }
  if (typeof value !== 'object') return { type: typeof value, const: value }
  const members = Object.entries(value as JsonObject).filter(([key]) => key !== '__proto__')
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([key, member]) => [key, schemaOf(member)])),
    required: members.map(([key]) => key),
  }
}

const ajv = new Ajv2020({ strict: false, logger: false })

test('the shaped schema is true of the shaped value', () => {
  const named = fc
    .tuple(fc.option(name.map(quoted)), path)
    .map(([as, one]) => `${as ? `${as}: ` : ''}${written(one)}`)
  fc.assert(
    fc.property(
      parsed,
      fc.option(fc.array(named, { minLength: 1, maxLength: 3 }), { nil: undefined }),
      fc.array(fc.tuple(fc.boolean(), path), { maxLength: 3 }),
      (value, select, drop) => {
        const made = compileMasks({
          select: select?.join(', '),
          drop: drop.map(([deep, one]) => written(deep ? ['**', ...one] : one)),
        })
        fc.pre(!Array.isArray(made))
        const schema = (made as Masks).schemaOf(schemaOf(value))
        const left = (made as Masks).apply(value)
        assert.ok(ajv.validate(schema as object, left), `${stringify(schema)} of ${stringify(left)}`)
      },
    ),
    { numRuns: sample(1_000) },
  )
})

test('the schema of values that may be cut, or be of several pages, is true of them', () => {
  const lists = {
    oneOf: [{ maxItems: 1 }, { minItems: 2 }],
    anyOf: [{ minItems: 2 }, { type: 'null' }],
    allOf: [{ not: { maxItems: 2 } }],
    if: { minItems: 4 },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { contains: { const: 4 } },
    else: { contains: { const: 3 } },
  }
  const schema = { type: 'object', properties: { list: lists } }
  assert.ok(ajv.validate(schema, { list: [1, 2, 3] }))
  for (const [texts, list] of [
    [{ maxItems: 1 }, [1]],
    [{ pages: { next: 'link', items: 'list', max: 2 } }, [1, 2, 3, 1, 2, 3]],
    [{ maxItems: 1, fields: true }, [1]],
  ] as const) {
    const made = compileShaping(texts, 1_000)
    assert.ok(!Array.isArray(made))
    const shown = made.schemaOf(schema as JsonObject)
    assert.ok(ajv.validate(shown, { list }), JSON.stringify(shown))
  }
})

const TREE: JsonObject = {
  type: 'object',
  required: ['id', 'children', 'owner'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer' },
    owner: { $ref: '#/$defs/user' },
    children: { type: 'array', minItems: 1, items: { $ref: '#/$defs/node' } },
  },
  $defs: {
    user: {
      type: ['object', 'null'],
      required: ['login', 'avatar_url'],
      properties: { login: { type: 'string' }, avatar_url: { type: 'string', format: 'uri' } },
    },
    node: {
      type: 'object',
      required: ['owner', 'url'],
      properties: {
        url: { type: 'string' },
        owner: { $ref: '#/$defs/user' },
        nodes: { type: 'array', items: { $ref: '#/$defs/node' } },
      },
    },
  },
}

test('references of schemas are followed, also recursive ones', () => {
  const drop = masks({ drop: ['**.avatar_url', '**.url'] }).schemaOf(TREE)
  const fine = {
    id: 1,
    owner: { login: 'x' },
    children: [{ owner: null, nodes: [{ owner: { login: 'y' } }] }],
  }
  assert.ok(ajv.validate(drop as object, fine))
  assert.ok(!ajv.validate(drop as object, { ...fine, children: [{ owner: { login: 1 } }] }))
  assert.ok(!ajv.validate(drop as object, { ...fine, url: 'u' }))

  const select = masks({ select: 'id, owner: owner.login, children[].nodes[].owner.login' }).schemaOf(TREE)
  assert.deepEqual(select.required, ['id', 'children'])
  assert.ok(
    ajv.validate(select as object, {
      id: 1,
      owner: null,
      children: [{ nodes: [{ owner: { login: 'y' } }] }],
    }),
  )
  assert.ok(!ajv.validate(select as object, { id: 1, owner: 7, children: [] }))
  assert.ok(
    !ajv.validate(select as object, { id: 1, owner: 'x', children: [{ nodes: [{ owner: { login: 7 } }] }] }),
  )

  const whole = masks({ select: 'children' }).schemaOf(TREE)
  assert.ok(
    !ajv.validate(whole as object, { children: [{ owner: null }] }),
    'what is kept whole keeps its schema',
  )
  const loop = {
    type: 'object',
    properties: { child: { $ref: '#' }, id: { type: 'integer' } },
    required: ['id'],
  }
  assert.ok(ajv.validate(masks({ select: 'child.{id}' }).schemaOf(loop) as object, { child: { id: 1 } }))
  assert.ok(ajv.validate(masks({ select: 'child' }).schemaOf(loop) as object, { child: { id: 1 } }))
})

test('what a schema does not have is known', () => {
  const missing = (texts: MaskTexts, schema: JsonObject) => {
    const { select, drop } = masks(texts)
    return [...select, ...drop.flat()].length
      ? unmatched([...select, ...drop.flat()], schema).map((one) => one.missing)
      : []
  }
  assert.deepEqual(missing({ select: 'id, owner.login, children[].nodes[].nodes[].url' }, TREE), [])
  assert.deepEqual(missing({ select: 'idd, owner.{login, name}, id.x, children.url, owner[]' }, TREE), [
    'idd',
    'name',
    'x',
    'url',
    '[]',
  ])
  assert.deepEqual(missing({ drop: ['**.avatar_url', '**.nodes[].url', '**.avatar'] }, TREE), ['avatar'])
  const open = { type: 'object', properties: { a: {}, b: { type: 'object' } }, additionalProperties: true }
  assert.deepEqual(missing({ select: 'a.b.c, b.x[], other' }, open as JsonObject), [])
})
