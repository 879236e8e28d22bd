import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSeal } from '../../src/cluster/index.ts'
import { type Json, type JsonObject, parse } from '../../src/json/index.ts'
import type { Call } from '../../src/mcp/index.ts'
import { Tasks } from '../../src/tools/tasks.ts'
import type { Answer, CallContext, Operation, Operations, Tools } from '../../src/tools/types.ts'
import { sample } from '../support/rest.ts'

/** The ids of tasks: whatever an operation is, its own caller gets it back, and nobody else anything. */

interface Place {
  prefix: string
  caller: string | undefined
}

function callOf({ prefix, caller }: Place, params: JsonObject): Call {
  const _meta = {
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  }
  const request = { method: 'tasks/get', params: { ...params, _meta } }
  return { callLog: { prefix }, context: { caller }, revision: '2026-07-28', request } as unknown as Call
}

/** Tasks of one tool, which remember what was polled. */
function tasksWith(secret: string, { owner = 'o', time = 0, ttl = 1_000 } = {}) {
  const polled: Operation[] = []
  const operations: Operations = {
    interval: 1,
    ttl,
    timeout: 0,
    async poll(operation) {
      polled.push(operation)
      return { running: true }
    },
  }
  const tools = {
    list: [],
    get: (name: string) => (name === 'slow' ? { operations } : undefined),
  } as unknown as Tools
  const seal = createSeal({ secrets: [secret] }, 'task id')
  const contextOf = () => ({}) as CallContext
  return { tasks: new Tasks({ tools, seal, owner, contextOf, now: () => time }), operations, polled }
}

const secret = randomBytes(32).toString('hex')

async function idOf({ tasks, operations }: ReturnType<typeof tasksWith>, operation: Operation, place: Place) {
  const outcome = { result: { content: [] }, operation }
  const answer = await tasks.answerAfter('slow', operations, outcome, callOf(place, {}), 0)
  assert.ok('result' in answer && answer.resultType === 'task')
  return String((JSON.parse(answer.result) as JsonObject).taskId)
}

function get(tasks: Tasks, taskId: Json, place: Place): Answer | Promise<Answer> {
  const call = callOf(place, { taskId })
  return tasks.methods.get('tasks/get')!(call.request.params, call)
}

const UNKNOWN = { error: { code: -32602, message: 'There is no such task, or it has expired' } }
const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>
const operation = fc.record({
  origin: fc.webUrl(),
  poll: fc.webUrl(),
  cancel: fc.option(fc.webUrl()),
  args: fc.dictionary(fc.string({ maxLength: 20 }), json, { maxKeys: 5 }) as fc.Arbitrary<JsonObject>,
}) as fc.Arbitrary<Operation>
const place = fc.record({ prefix: fc.string(), caller: fc.option(fc.string(), { nil: undefined }) })

test('an id gives back the operation, in any process with the secret', async () => {
  await fc.assert(
    fc.asyncProperty(operation, place, async (given, at) => {
      const [one, other] = [tasksWith(secret), tasksWith(secret)]
      const id = await idOf(one, given, at)
      assert.match(id, /^[\x21-\x7e]+$/)
      assert.ok('result' in (await get(other.tasks, id, at)))
      assert.deepEqual(other.polled, [parse(JSON.stringify(given))])
    }),
    { numRuns: sample(200) },
  )
})

test('an id is worth nothing elsewhere, later, or changed in any place', async () => {
  await fc.assert(
    fc.asyncProperty(
      operation,
      place,
      place,
      fc.nat(),
      fc.base64String(),
      async (given, at, elsewhere, n, junk) => {
        const own = tasksWith(secret)
        const id = await idOf(own, given, at)
        const i = n % id.length
        const flipped = id.slice(0, i) + (id[i] === 'A' ? 'B' : 'A') + id.slice(i + 1)
        const isSame = elsewhere.prefix === at.prefix && elsewhere.caller === at.caller
        const late = tasksWith(secret, { time: 1_001 })
        const others = [
          [own.tasks, flipped, at],
          [own.tasks, id.slice(0, i), at],
          [own.tasks, `${id}${junk.slice(0, 5)}.`, at],
          [own.tasks, junk, at],
          [late.tasks, id, at],
          [tasksWith(secret, { owner: 'another' }).tasks, id, at],
          [tasksWith(randomBytes(32).toString('hex')).tasks, id, at],
          ...(isSame ? [] : ([[own.tasks, id, elsewhere]] as const)),
        ] as const
        for (const [tasks, one, where] of others) assert.deepEqual(await get(tasks, one, where), UNKNOWN)
        for (const odd of [null, 7, [id], { id }]) assert.deepEqual(await get(own.tasks, odd, at), UNKNOWN)
        assert.deepEqual(own.polled, [])
      },
    ),
    { numRuns: sample(200) },
  )
})

test('two ids of one operation differ, and show nothing of it', async () => {
  const own = tasksWith(secret)
  const given = {
    origin: 'https://a.example',
    poll: 'https://a.example/secret',
    cancel: null,
    args: { a: 'secret' },
  }
  const at = { prefix: '/a', caller: 'one' }
  const [one, other] = [await idOf(own, given, at), await idOf(own, given, at)]
  assert.notEqual(one, other)
  const bytes = Buffer.from(one.slice(9), 'base64url').toString('latin1')
  assert.ok(!bytes.includes('secret') && !bytes.includes('slow'))
})
