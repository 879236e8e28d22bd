import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer, Refusal } from './refusal.ts'
import { CHAPTERS } from './table.ts'
import { type Got, type World, world } from './world.ts'

const ends: (() => unknown)[] = []

describe('refusals', () => {
  let made: World
  before(async () => {
    made = await world({ after: (end: () => unknown) => void ends.push(end) } as never)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  for (const { title, rows } of CHAPTERS)
    describe(title, () => {
      for (const row of rows) test(row.when, (t) => check(made, row, (why) => t.skip(why)))
    })

  test('are at least 150, and none is there twice', () => {
    const rows = CHAPTERS.flatMap(({ title, rows }) => rows.map(({ when }) => `${title}: ${when}`))
    assert.ok(rows.length >= 150, String(rows.length))
    assert.equal(new Set(rows).size, rows.length)
  })
})

async function check(made: World, row: Refusal, skip: (why: string) => void): Promise<void> {
  const { gateway = 'main', send, before: first = [], answer } = row
  const earlier: (number | undefined)[] = []
  for (const sent of first) earlier.push((await made.send(gateway, sent))?.status)
  const reached = made.reached()
  const got = await made.send(gateway, send)
  if (!got) return skip('needs openssl to make certificates')
  const { status, headers, body } = got
  const shown = `${status} ${JSON.stringify(headers)} ${body.slice(0, 600)}, after ${earlier}`
  assert.equal(status, answer.status, shown)
  assert.deepEqual(errorOf(answer, got), answer.error, shown)
  const challenge = headers['www-authenticate']?.replace(/,? error_description="[^"]*"/, '')
  assert.equal(challenge, answer.challenge, shown)
  for (const [name, value] of Object.entries(answer.headers ?? {}))
    assert.equal(headers[name] ?? null, value, shown)
  if (status === 429 || status === 503) assert.ok(headers['retry-after'], shown)
  assert.equal(made.reached() - reached, row.passes ? 1 : 0, 'requests that went on')
  // Nobody gets to see how the gateway is made.
  assert.doesNotMatch(body, /\n {4}at |node:internal|\/dist\//)
}

/** The kind of error, as the table says it. */
function errorOf({ error }: Answer, { status, body }: Got): Answer['error'] {
  if (error === 'none') return 'none'
  const json = JSON.parse(
    body.startsWith('event:') || body.startsWith('data:') ? body.slice(body.indexOf('{')) : body,
  )
  const [value] = [json].flat()
  if (value.result?.isError === true) return 'tool'
  if (value.error?.code !== undefined && value.jsonrpc === '2.0' && typeof value.error.message === 'string')
    return value.error.code
  if (value.error === status && typeof value.message === 'string') return 'page'
  return undefined
}
