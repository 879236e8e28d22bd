import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readConfiguration } from '../../src/checks/index.ts'
import { Fault, PendingInput } from '../../src/mcp/index.ts'
import { withSortedKeys } from '../../src/mcp/protocol.ts'
import { idInEnds, lineSplitter, oneLine } from '../../src/mcp/transport/message-lines.ts'
import { Aggregate } from '../../src/upstream/aggregate/aggregate.ts'
import { Owners } from '../../src/upstream/aggregate/owners.ts'
import { boundTo } from '../../src/upstream/bridge/to-session.ts'
import { compileDefinition } from '../../src/upstream/definition.ts'
import { encodeHeader } from '../../src/upstream/rpc/stateless-client.ts'
import { ServerView } from '../../src/upstream/view/server-view.ts'

/** A text cut into pieces at any places. */
const pieces = (text: string, cuts: number[]) => {
  const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((start, i) => text.slice(start, at[i] ?? text.length))
}

test('lines come out the same however their bytes are cut, and long ones as their ends', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 40 }).map((text) => text.replaceAll('\n', ' '))),
      fc.array(fc.nat()),
      (lines, cuts) => {
        const found: string[] = []
        const long: string[] = []
        const split = lineSplitter(
          () => 30,
          (line) => found.push(line.toString()),
          (head) => long.push(head),
        )
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        for (const piece of pieces(bytes.toString('latin1'), cuts)) split(Buffer.from(piece, 'latin1'))
        const size = (line: string) => Buffer.byteLength(line)
        assert.deepEqual(
          found,
          lines.filter((line) => size(line) > 0 && size(line) <= 30),
        )
        assert.equal(long.length, lines.filter((line) => size(line) > 30).length)
      },
    ),
  )
})

test('the id of a long answer is found at either end', () => {
  assert.equal(idInEnds('{"jsonrpc":"2.0","id":7,"result":{', '"}]}}'), 7)
  assert.equal(idInEnds('{"result":{"content":[', '"}]},"jsonrpc":"2.0","id":"a\\"b"}'), 'a"b')
  assert.equal(idInEnds('{"id":"x","jsonrpc"', '}'), 'x')
  assert.equal(
    idInEnds('{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1,', '}}'),
    undefined,
  )
})

test('any JSON text on one line is the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const line = oneLine(JSON.stringify(value, null, 2).replaceAll('\n', '\r\n'))
      assert.ok(!/[\r\n]/.test(line))
      assert.deepEqual(JSON.parse(line), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('equal values have equal canonical texts, whatever the order of keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const turned = Object.fromEntries(Object.entries(object).reverse())
      assert.equal(JSON.stringify(withSortedKeys(object)), JSON.stringify(withSortedKeys(turned)))
    }),
  )
})

test('header values are ASCII and can be read back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const value = encodeHeader(text)
      assert.match(value, /^[\t\x20-\x7e]*$/)
      const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1]
      assert.equal(
        encoded === undefined ? value : Buffer.from(encoded, 'base64').toString(),
        Buffer.from(text).toString(),
      )
    }),
  )
})

test('a parked call is taken once, and expires', () => {
  const resolved = { env: {}, origin: '', path: '', headers: {}, key: 'k' }
  const call = (params: object, caller?: string) =>
    boundTo({ message: { method: 'tools/call', params }, caller, resolved } as never)
  const pending = new PendingInput<string>()
  let expired = 0
  const handle = pending.add('one', call({ name: 'a', _meta: { x: 1 } }, 'me'), 'me', () => expired++)
  assert.equal(pending.take(handle, call({ name: 'a' })), undefined)
  assert.equal(pending.take(handle, call({ name: 'b' }, 'me')), undefined)
  assert.equal(
    pending.take(handle, call({ name: 'a', requestState: handle, inputResponses: {} }, 'me')),
    'one',
  )
  assert.equal(pending.take(handle, call({ name: 'a' }, 'me')), undefined)
  pending.add('two', call({}), 'me', () => expired++)
  pending.close()
  assert.equal(expired, 1)
})

test('where there is no room for more pending input, the oldest goes of whoever has most', () => {
  const pending = new PendingInput<string>(60_000, 4)
  const gone: string[] = []
  const add = (name: string, quotaKey: string) =>
    pending.add(name, 'bound', quotaKey, () => void gone.push(name))
  const victim = add('v1', 'victim')
  for (const name of ['s1', 's2', 's3', 's4', 's5']) add(name, 'stranger')
  assert.deepEqual(gone, ['s1', 's2'])
  add('v2', 'victim')
  assert.deepEqual(gone, ['s1', 's2', 's3'])
  assert.equal(pending.take(victim, 'bound'), 'v1')
  pending.close()
})

test('pages of several servers go on where each stopped', async () => {
  const pages: Record<string, [string[], string?]> = {
    '0': [['a'], 'p2'],
    '0p2': [['b']],
    '1': [['c']],
    '2': [[], 'q'],
    '2q': [['d']],
  }
  const parties = ['x', 'x__y', 'z'].map((name) => ({
    name,
    filter: undefined,
    view: new ServerView(undefined, undefined, {}),
    capabilities: { tools: {} },
  }))
  const info = { name: 'several', version: '1' }
  const owners = new Owners()
  const options = { info, isPlain: false, owners, local: () => undefined, onClash() {} }
  const several = new Aggregate(parties, options)
  const ask = async (i: number, _method: string, { cursor = '' }: { cursor?: unknown }) => {
    const [names, nextCursor] = pages[`${i}${cursor}`] as [string[], string?]
    return { result: { tools: names.map((name) => ({ name })), ...(nextCursor && { nextCursor }) } }
  }
  const names: string[] = []
  let cursor: unknown
  do {
    const outcome = await several.decide(
      { method: 'tools/list', params: cursor ? { cursor: cursor as string } : {} },
      ask,
    )
    assert.ok('result' in outcome)
    for (const tool of outcome.result.tools as { name: string }[]) names.push(tool.name)
    cursor = outcome.result.nextCursor
  } while (cursor)
  assert.deepEqual(names, ['x__a', 'x__y__c', 'x__b', 'z__d'])
  const routed = await several.decide({ method: 'tools/call', params: { name: 'x__y__c' } }, ask)
  assert.deepEqual(routed, { to: 1, params: { name: 'c' } })
  for (const bad of [
    'nonsense',
    Buffer.from('[[9,"a"]]').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
  ])
    assert.ok('error' in (await several.decide({ method: 'tools/list', params: { cursor: bad } }, ask)))
})

test('skills of several servers are one list, and each is asked of its own', async () => {
  const extension = { extensions: { 'io.modelcontextprotocol/skills': {} } }
  const parties = [extension, {}, extension].map((capabilities, i) => ({
    name: `s${i}`,
    filter: undefined,
    view: new ServerView(undefined, undefined, {}),
    capabilities: { resources: {}, ...capabilities },
  }))
  const clashes: string[] = []
  const several = new Aggregate(parties, {
    info: { name: 'several', version: '1' },
    isPlain: false,
    owners: new Owners(),
    local: () => undefined,
    onClash: (_, uri, server) => clashes.push(`${server} ${uri}`),
  })
  const asked: string[] = []
  const ask = async (i: number, method: string) => {
    asked.push(`${i} ${method}`)
    const own = { uri: `skill://own${i}/SKILL.md` }
    return { result: { skills: [{ uri: 'skill://same/SKILL.md' }, own] } }
  }
  const listed = await several.decide({ method: 'skills/list', params: {} }, ask)
  assert.deepEqual(listed, {
    result: {
      skills: [
        { uri: 'skill://same/SKILL.md' },
        { uri: 'skill://own0/SKILL.md' },
        { uri: 'skill://own2/SKILL.md' },
      ],
    },
  })
  assert.deepEqual(asked, ['0 skills/list', '2 skills/list'])
  assert.deepEqual(clashes, ['s2 skill://same/SKILL.md'])
  for (const method of ['skills/get', 'resources/read', 'resources/directory/read']) {
    const params = { uri: 'skill://own2/SKILL.md' }
    assert.deepEqual(await several.decide({ method, params }, ask), { to: 2, params })
  }
})

function definitionOf(server: object) {
  const text = JSON.stringify({
    name: 'a',
    routers: [{ server: 's', prefix: '/s' }],
    mcpServers: [{ name: 's', ...server }],
  })
  const { configuration } = readConfiguration({ file: 'a.yaml', text }, {})
  return compileDefinition(configuration!.mcpServers[0]!, ['mcpServers', 0], { HOST: 'example.com' })
}
const facts = (headers: Record<string, string>) => ({ headers, query: () => ({}) })

test('templates of url and headers, per caller', () => {
  const { definition, problems } = definitionOf({
    type: 'streamable-http',
    url: 'https://{{env "HOST"}}/u/{{.Request.Headers.User}}/mcp',
    headers: { Authorization: '{{.Request.Headers.Authorization}}', 'X-Fixed': 'a' },
  })
  assert.deepEqual(problems, [])
  assert.ok(definition.varies && definition.forwardsAuthorization)
  const a = definition.resolve(facts({ user: 'a/b', authorization: 'Bearer t' }))
  assert.ok(!(a instanceof Fault))
  assert.deepEqual([a.origin, a.path], ['https://example.com', '/u/a%2Fb/mcp'])
  assert.deepEqual(a.headers, { authorization: 'Bearer t', 'x-fixed': 'a' })
  assert.ok(!a.key.includes('Bearer'))
  const b = definition.resolve(facts({ user: 'a/b' }))
  assert.ok(!(b instanceof Fault) && b.key !== a.key && !('authorization' in b.headers))
  assert.ok(definition.resolve(facts({ user: 'x', authorization: 'a\r\nb' })) instanceof Fault)
})

test('what is wrong with a definition is found when it is read', () => {
  const codes = (server: object) => definitionOf(server).problems.map(({ code }) => code)
  const stdio = { type: 'stdio', command: 'c' }
  assert.deepEqual(codes({ ...stdio, isolation: 'shared', env: { A: '{{.Request.Headers.X}}' } }), [
    'upstream-shared',
  ])
  assert.deepEqual(codes({ ...stdio, isolation: 'shared', env: { A: 'b' } }), [])
  assert.deepEqual(codes({ ...stdio, env: { A: '{{.Args.x}}' } }), ['template-context'])
  assert.deepEqual(codes({ ...stdio, env: { A: '{{.Request.Body.x}}' } }), ['template-context'])
  assert.deepEqual(codes({ ...stdio, env: { A: '{{' } }), ['template-syntax'])
  assert.deepEqual(codes({ type: 'sse', url: 'ftp://a/sse' }), ['invalid-value'])
  assert.deepEqual(codes({ type: 'sse', url: 'http://a/sse', headers: { 'Mcp-Session-Id': 'x' } }), [
    'forbidden-header',
  ])
})
