import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Permissions } from '../../src/access/permissions.ts'
import type { Discovery } from '../../src/discovery/index.ts'
import type { JsonObject } from '../../src/json/index.ts'
import { type Answer, CANCELLED, resultAnswer } from '../../src/mcp/answer.ts'
import { Call, type ElicitationOutcome, type Middleware, type Pipeline } from '../../src/mcp/call.ts'
import type { RequestContext } from '../../src/mcp/context.ts'
import { Fault } from '../../src/mcp/fault.ts'
import { approval } from '../../src/mcp/middleware/approval.ts'
import { discovery } from '../../src/mcp/middleware/discovery.ts'
import { logins } from '../../src/mcp/middleware/logins.ts'
import type { ParamHeader } from '../../src/mcp/middleware/mirror.ts'
import { mirroredHeaders } from '../../src/mcp/middleware/mirrored-headers.ts'
import { permissions } from '../../src/mcp/middleware/permissions.ts'
import { compose, handle, pipelineOf } from '../../src/mcp/pipeline.ts'
import { ownRequest, type Revision } from '../../src/mcp/protocol.ts'
import { createLog } from '../../src/telemetry/log.ts'
import type { CallRecord } from '../../src/telemetry/metrics.ts'

const log = await createLog({ level: 'silent', format: 'json', to: { write() {} } })

interface Given {
  method?: string
  params?: JsonObject
  context?: Partial<RequestContext>
  revision?: Revision
  pipeline?: Pipeline
  /** The tools that the server lists. */
  tools?: JsonObject[]
  declared?: readonly ParamHeader[]
  approval?: ElicitationOutcome
  onCall?: (record: CallRecord) => void
  serve?: () => Promise<Answer>
}

/** A call without transport, session and backend. */
class FakeCall extends Call {
  readonly viewer = { of: {}, among: {}, key: 'me', kind: 'session' } as const
  readonly listing
  readonly asked: JsonObject[] = []
  readonly sent: string[] = []

  constructor(readonly given: Given = {}) {
    const { method = 'tools/call', params = { name: 'add' }, context, pipeline, onCall } = given
    super({
      context: { headers: {}, ...context } as RequestContext,
      request: ownRequest(method, params, 7),
      revision: given.revision ?? '2025-11-25',
      callLog: { tenant: 'default', prefix: '/p', log, ...(onCall && { onCall }) },
      pipeline: pipeline ?? { clientRequests: compose([]), ownRequests: compose([]) },
    })
    this.listing = context?.route?.discovery && ({ mode: 'search' } as const)
  }
  async serve(): Promise<Answer> {
    return this.given.serve ? this.given.serve() : resultAnswer(this, '{"content":[]}')
  }
  message(text: string): void {
    this.sent.push(text)
  }
  async ask(params: JsonObject): Promise<ElicitationOutcome> {
    this.asked.push(params)
    return this.given.approval ?? { outcome: 'declined' }
  }
  override async visit(params: JsonObject): Promise<ElicitationOutcome> {
    this.asked.push(params)
    return this.given.approval ?? { outcome: 'unavailable' }
  }
  async inquire(): Promise<JsonObject> {
    return { result: { tools: this.given.tools ?? [] } }
  }
  override async paramHeaders(): Promise<readonly ParamHeader[]> {
    return this.given.declared ?? []
  }
}

/** Runs one middleware; `next` gives `answer`. */
async function run(middleware: Middleware, call: FakeCall, answer = '{"content":[]}') {
  let isServed = false
  const given = await middleware(call, async () => {
    isServed = true
    return resultAnswer(call, answer)
  })
  return { isServed, end: given.end, status: given.status, said: JSON.parse(given.text ?? 'null') }
}

const only = (...names: string[]): Permissions => ({
  allows: (_kind, name) => names.includes(name),
  lacks: () => undefined,
  allowsUnknown: false,
  allowsSome: true,
  key: () => names.join(),
})

const DISCOVERY: Discovery = {
  mode: 'search',
  above: 0,
  pins: () => false,
  wordsOf: () => undefined,
  key: 'test',
}

test('the first middleware of a list is the outermost', async () => {
  const order: string[] = []
  const one = (name: string): Middleware => {
    return async (_call, next) => {
      order.push(`${name} before`)
      const answer = await next()
      order.push(`${name} after`)
      return answer
    }
  }
  await run(compose([one('a'), one('b')]), new FakeCall())
  assert.deepEqual(order, ['a before', 'b before', 'b after', 'a after'])
})

test('permissions refuse a forbidden tool, and take it out of lists', async () => {
  const context = { permissions: only('list') }
  const refused = await run(permissions, new FakeCall({ context }))
  assert.equal(refused.isServed, false)
  assert.equal(refused.said.error.message, 'Unknown tool: add')
  assert.equal(refused.end.denied, 'rule')
  const allowed = await run(permissions, new FakeCall({ context, params: { name: 'list' } }))
  assert.ok(allowed.isServed)
  const listed = await run(
    permissions,
    new FakeCall({ context, method: 'tools/list', params: {}, revision: '2026-07-28' }),
    '{"tools":[{"name":"add"},{"name":"list"}],"cacheScope":"public"}',
  )
  assert.deepEqual(listed.said.result, { tools: [{ name: 'list' }], cacheScope: 'private' })
})

test('approval asks about a destructive tool only, and says why a call was not sent', async () => {
  const tools = [
    { name: 'add', annotations: { destructiveHint: true } },
    { name: 'list', annotations: { readOnlyHint: true } },
  ]
  const context = { route: { maxRequestSize: 1, approval: { server: 'shop' } } }
  const read = new FakeCall({ tools, context, params: { name: 'list' } })
  assert.ok((await run(approval, read)).isServed)
  assert.deepEqual(read.asked, [])
  const declined = await run(approval, new FakeCall({ tools, context }))
  assert.equal(declined.isServed, false)
  assert.match(declined.said.result.content[0].text, /the person who was asked declined it/)
  const accepted = new FakeCall({ tools, context, approval: { outcome: 'accepted' } })
  assert.ok((await run(approval, accepted)).isServed)
  assert.equal(accepted.approval, 'accepted')
  const unknown = await run(approval, new FakeCall({ tools, context, params: { name: 'other' } }))
  assert.equal(unknown.said.error.message, 'Unknown tool: other')
})

test('mirrored headers must match the arguments', async () => {
  const declared = [{ path: ['region'], header: 'mcp-param-region' }]
  const params = { name: 'add', arguments: { region: 'eu' } }
  const same = new FakeCall({ declared, params, context: { headers: { 'mcp-param-region': 'eu' } } })
  assert.ok((await run(mirroredHeaders, same)).isServed)
  const other = new FakeCall({ declared, params, context: { headers: { 'mcp-param-region': 'us' } } })
  const refused = await run(mirroredHeaders, other)
  assert.equal(refused.isServed, false)
  assert.equal(refused.said.error.code, -32020)
})

test('discovery lists its own tools, and serves what is no discovery', async () => {
  const tools = [{ name: 'add', inputSchema: { type: 'object' } }]
  const context = { route: { maxRequestSize: 1, discovery: DISCOVERY } }
  const listed = await run(discovery, new FakeCall({ tools, context, method: 'tools/list', params: {} }))
  assert.equal(listed.isServed, false)
  assert.ok(listed.said.result.tools.some(({ name }: { name: string }) => name === 'search_tools'))
  assert.ok((await run(discovery, new FakeCall({ tools, context }))).isServed)
})

test('a call that lacks a login is repeated once its caller has logged in', async () => {
  const question = {
    ...{ id: 'q', server: 'shop', url: 'https://tools.example.com/_login/x' },
    ...{ message: 'Open this page.', advice: 'Ask the user to open the page' },
  }
  const lacking = async (isThere: boolean, approval?: ElicitationOutcome) => {
    const call = new FakeCall(approval ? { approval } : {})
    const login = {
      ask: async () => ({ ...question, completed: Promise.resolve(isThere), done: async () => isThere }),
    }
    let served = 0
    const answer = await logins(call, async () =>
      resultAnswer(call, '{}', { outcome: 'ok', ...(served++ === 0 && { login }) }),
    )
    return { served, said: JSON.parse(answer.text!), end: answer.end, asked: call.asked, sent: call.sent }
  }
  const made = await lacking(true, { outcome: 'accepted' })
  const { id: elicitationId, url, message } = question
  assert.deepEqual(made.asked, [{ mode: 'url', elicitationId, url, message }])
  assert.deepEqual([made.served, made.said.result], [2, {}])
  assert.match(made.sent.join(), /notifications\/elicitation\/complete.*"elicitationId":"q"/)
  for (const [isThere, approval, text] of [
    [true, { outcome: 'declined' }, /^The user did not log in at the server shop\. Do not repeat the call/],
    [true, undefined, /^Ask the user to open the page\.$/],
    [false, { outcome: 'accepted' }, /^Ask the user to open the page\.$/],
  ] as const) {
    const { served, said, end } = await lacking(isThere, approval)
    assert.deepEqual([served, end.denied, said.result.isError], [1, 'login', true])
    assert.match(said.result.content[0].text, text)
  }
})

test('a call that is cancelled gets no answer, and its server is not asked', async () => {
  const ended: CallRecord[] = []
  const pipeline = pipelineOf({})
  const call = new FakeCall({
    pipeline,
    onCall: (record) => ended.push(record),
    serve: () => assert.fail('it was served'),
  })
  call.cancel()
  assert.equal(await handle(call), CANCELLED)
  assert.deepEqual(
    ended.map(({ outcome }) => outcome),
    ['cancelled'],
  )
})

test('the first end of a call counts, and it is recorded once', async () => {
  const ended: CallRecord[] = []
  const pipeline = pipelineOf({
    keepsResults: true,
    discovers: true,
    authorizes: true,
    approves: true,
  })
  const call = new FakeCall({
    method: 'ping',
    params: {},
    pipeline,
    onCall: (record) => ended.push(record),
    serve: () => new Promise(() => {}),
  })
  const answer = handle(call)
  call.abortWith(new Fault('timeout', 'too late'))
  call.cancel()
  assert.match(String((await answer).text), /too late/)
  assert.deepEqual(
    ended.map(({ outcome }) => outcome),
    ['timeout'],
  )
})
