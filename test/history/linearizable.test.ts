import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linearization, type Model, type Operation } from './linearizable.ts'
import { type StoreOperation, storeModel } from './model.ts'

/** A register: a write answers with nothing, a read with the value, a swap with whether it found what it expected. */
type Input = { write: number } | { read: true } | { swap: [from: number, to: number] }
type Output = { value?: number; swapped?: boolean }

const REGISTER: Model<number, Input, Output> = {
  initial: 0,
  step(state, input, output) {
    if ('write' in input) return input.write
    if ('read' in input) return output === undefined || output.value === state ? state : undefined
    const [from, to] = input.swap
    if (output !== undefined && output.swapped !== (state === from)) return undefined
    return state === from ? to : state
  },
  key: String,
}

/** One line for each process; where `text` begins and ends are the call and the answer, `>` at the end is no answer. */
function history(...lines: string[]): Operation<Input, Output>[] {
  return lines.flatMap((line) =>
    [...line.matchAll(/\[(\S+) *([\]>])/g)].map((found) => {
      const [text, what, end] = found as unknown as [string, string, string]
      const [kind, first, second] = what.split(/[:,]/) as [string, string, string]
      const input: Input =
        kind === 'w'
          ? { write: Number(first) }
          : kind === 'r'
            ? { read: true }
            : { swap: [Number(first), Number(second)] }
      const output =
        kind === 'r' ? { value: Number(first) } : kind === 'w' ? {} : { swapped: kind === 'swapped' }
      const answered = end === ']' ? found.index + text.length : Number.POSITIVE_INFINITY
      return { input, output: end === ']' ? output : undefined, called: found.index, answered }
    }),
  )
}

const GOOD: Record<string, string[]> = {
  nothing: [],
  'one after the other': ['[w:1] [r:1] [w:2] [r:2]'],
  'a read during a write sees the old value or the new': ['[w:1          ]', '  [r:0] [r:1]  '],
  'reads during two writes order them': ['[w:1          ]', '[w:2          ]', '  [r:2] [r:1]  '],
  'a write without an answer is seen late': ['[w:1>', '      [r:0] [r:0] [r:1]'],
  'a write without an answer is never seen': ['[w:1>', '      [r:0] [w:2] [r:2]'],
  'a write without an answer takes effect after another': ['[w:1>', '      [w:2] [r:2] [r:1]'],
  'one of two swaps wins': ['[swapped:0,1    ]', '[missed:0,2    ]', '                  [r:1]'],
  'a swap without an answer explains one that failed': ['[swapped:0,1>', '               [missed:0,2] [r:1]'],
  'the first choice is wrong': ['[w:1                ]', '[w:2          ] [r:2]', '  [r:1]'],
}

const BAD: Record<string, string[]> = {
  'a lost write': ['[w:1] [r:0]'],
  'a value that nobody wrote': ['[w:1] [r:3]'],
  'a read goes back': ['[w:1          ]', '  [r:1] [r:0]  '],
  'a stale read after the write': ['[w:1]            ', '       [w:2] [r:1]'],
  'two swaps win': ['[swapped:0,1    ]', '[swapped:0,2    ]'],
  'both orders of two writes': ['[w:1]               [r:1]', '[w:2]               [r:2]'],
  'a write without an answer is seen twice': ['[w:1>', '      [r:1] [w:2] [r:2] [r:1]'],
  'a write without an answer is seen before its call': ['      [w:1>', '[r:1]      '],
  'a swap fails for no reason': ['[missed:0,1] [r:0]'],
  'a swap without an answer cannot have found its value': [
    '[w:3] [swapped:0,1>',
    '                     [r:1]',
  ],
}

for (const [name, lines] of Object.entries(GOOD))
  test(`linearizable: ${name}`, () => {
    const operations = history(...lines)
    const { linearizable, order } = linearization(operations, REGISTER)
    assert.equal(linearizable, true)
    let state = REGISTER.initial
    for (const [index, { input, output, called }] of order.entries()) {
      const next = REGISTER.step(state, input, output)
      assert.ok(next !== undefined, 'each answer fits the state')
      state = next
      assert.ok(
        order.slice(index).every(({ answered }) => answered > called),
        'none is moved before its call',
      )
    }
    const answered = operations.filter(({ output }) => output !== undefined)
    assert.deepEqual(new Set(answered), new Set(order.filter(({ output }) => output !== undefined)))
  })

for (const [name, lines] of Object.entries(BAD))
  test(`not linearizable: ${name}`, () => {
    assert.equal(linearization(history(...lines), REGISTER).linearizable, false)
  })

test('many writes without an answer are decided by what was seen', () => {
  const lost = Array.from({ length: 12 }, (_, index) => `[w:${index + 1}>`)
  const seen = (values: number[]) => ' '.repeat(9) + values.map((value) => `[r:${value}]`).join(' ')
  assert.equal(linearization(history(...lost, seen([3, 11, 5, 12, 1])), REGISTER).linearizable, true)
  assert.equal(linearization(history(...lost, seen([3, 11, 5, 12, 3])), REGISTER).linearizable, false)
})

test('a revision of contents comes back with them', () => {
  const change = (text: string | null, expect: string | null, revision?: string) => ({
    kind: 'change' as const,
    by: 'm',
    changes: [{ name: 'a', text, expect }],
    revision,
    command: false,
  })
  const applied = (version: string) => ({ kind: 'applied' as const, versions: { a: version } })
  const steps: [StoreOperation['input'], StoreOperation['output']][] = [
    [{ kind: 'all' }, { kind: 'all', versions: {}, texts: {}, revision: 'r' }],
    [change('1', null), applied('v1')],
    [change(null, 'v1'), applied('v1')],
    [change('2', null, 'r'), applied('v2')],
  ]
  const operations = steps.map(([input, output], i) => ({
    input,
    output,
    called: 2 * i,
    answered: 2 * i + 1,
  }))
  const hash = (text: string) => `v${text}`
  assert.ok(linearization(operations, storeModel({ hash, keep: 1 })).linearizable)
  assert.ok(!linearization(operations, storeModel({ keep: 9 })).linearizable)
})
