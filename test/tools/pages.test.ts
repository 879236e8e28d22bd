import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { Arg, ResponseShaping, Tool } from '../../src/config/model.ts'
import { Cancellation, Resilience } from '../../src/net/index.ts'
import type { CallContext, CallOutcome } from '../../src/tools/index.ts'
import { modern } from '../support/client.ts'
import { gatewayHere } from '../support/gateway.ts'
import { arg, callable, compileAll, json, makeTool, type Setup, upstream } from './harness.ts'

/** Five items, two on each page; what a test changes is between. */
const ROWS = [1, 2, 3, 4, 5].map((id) => ({ id, title: `plant ${id}` }))
const PER_PAGE = 2
let answer: (response: ServerResponse, query: URLSearchParams, page: number) => unknown

const target = await upstream((response, { url }) => {
  const query = new URL(url, 'http://x').searchParams
  return answer(response, query, Number(query.get('page') ?? 1))
})

const rowsOf = (page: number) => ROWS.slice((page - 1) * PER_PAGE, page * PER_PAGE)
const linked = (
  response: ServerResponse,
  page: number,
  link: string | string[],
  body: unknown = rowsOf(page),
) => response.writeHead(200, { 'content-type': 'application/json', link }).end(JSON.stringify(body))

/** Relative links, as RFC 8288 allows. */
const withLinks: typeof answer = (response, _, page) =>
  page * PER_PAGE < ROWS.length
    ? linked(response, page, `</list?page=1>; rel="first", <?page=${page + 1}>; rel="next"`)
    : json(response, rowsOf(page))

type Shaping = Partial<ResponseShaping>

function tool(response: Shaping, rest: Partial<Tool> = {}, setup: Setup = {}) {
  const shaped = { drop: [], format: 'json' as const, fields: false, ...response }
  const call = callable({ endpoint: `${target.origin}/list`, response: shaped, ...rest }, setup)
  return async (args: unknown = {}, context: Partial<CallContext> = {}) => {
    const before = target.received.length
    const outcome = await call(args, context)
    const requests = target.received.slice(before).map(({ url }) => url)
    return { ...outcome, requests, texts: textsOf(outcome) }
  }
}

function textsOf({ result }: CallOutcome): string[] {
  return result.content.map((one) => (one.type === 'text' ? one.text : one.type))
}

const LINKS = { pages: { next: 'link', max: 10 } }

test('linked pages become one list', async () => {
  answer = withLinks
  const { texts, requests, pages, result } = await tool(LINKS)()
  assert.deepEqual(JSON.parse(texts[0]!), ROWS)
  assert.equal(texts[1], 'Pages: 3 read, which are all.')
  assert.deepEqual(requests, ['/list', '/list?page=2', '/list?page=3'])
  assert.equal(pages, 3)
  assert.equal(result.isError, undefined)
  answer = (response) => json(response, rowsOf(1))
  const one = await tool(LINKS)()
  assert.deepEqual([one.texts, one.pages], [[JSON.stringify(rowsOf(1))], undefined])
})

test('cursors, URLs and numbers in responses lead to the next page', async () => {
  answer = (response, query) => {
    const start = Number(query.get('cursor') ?? 0)
    const next = start + PER_PAGE < ROWS.length ? String(start + PER_PAGE) : ''
    json(response, { ok: true, data: { rows: ROWS.slice(start, start + PER_PAGE) }, meta: { next } })
  }
  const cursor = tool(
    { pages: { next: 'cursor: meta.next', items: 'data.rows', max: 10 } },
    { endpoint: `${target.origin}/list?q=a%20b`, args: [arg('cursor', 'query')] },
  )
  const all = await cursor()
  // The last page, with the rows of all of them: its cursor is the one that goes on.
  assert.deepEqual(JSON.parse(all.texts[0]!), { ok: true, data: { rows: ROWS }, meta: { next: '' } })
  assert.deepEqual(all.requests, ['/list?q=a%20b', '/list?q=a%20b&cursor=2', '/list?q=a%20b&cursor=4'])
  assert.deepEqual((await cursor({ cursor: '4' })).requests, ['/list?q=a%20b&cursor=4'])

  answer = (response, query) => {
    const start = query.has('starting_after') ? Number(query.get('starting_after')) : 0
    json(response, { data: ROWS.slice(start, start + PER_PAGE) })
  }
  const stripe = await tool({ pages: { next: 'starting_after: data[].id', items: 'data', max: 10 } })()
  assert.deepEqual(JSON.parse(stripe.texts[0]!), { data: ROWS })
  assert.deepEqual(
    stripe.requests.slice(1),
    [2, 4, 5].map((id) => `/list?starting_after=${id}`),
  )

  answer = (response, _, page) =>
    json(response, { items: rowsOf(page), next: page < 3 ? `${target.origin}/other?page=${page + 1}` : null })
  const urls = await tool({ pages: { next: 'next', items: 'items', max: 10 } })()
  assert.deepEqual(urls.requests, ['/list', '/other?page=2', '/other?page=3'])

  answer = (response, _, page) => json(response, rowsOf(page))
  const numbers = await tool(
    { pages: { next: 'page: +1', max: 10 } },
    { args: [arg('page', 'query')] },
  )({ page: '2' })
  assert.deepEqual(numbers.requests, ['/list?page=2', '/list?page=3', '/list?page=4'])
  assert.deepEqual(JSON.parse(numbers.texts[0]!), ROWS.slice(2))
})

test('max and maxItems end it, and the result says how to go on', async () => {
  answer = withLinks
  const args = [arg('page', 'query')]
  const most = await tool({ pages: { next: 'link', max: 2 } }, { args })()
  assert.equal(most.requests.length, 2)
  assert.deepEqual(most.texts, [
    JSON.stringify(ROWS.slice(0, 4)),
    'Pages: 2 read, and there are more. For the rest, call again with `page`: "3".',
  ])
  const rest = await tool({ pages: { next: 'link', max: 2 } }, { args })({ page: '3' })
  assert.deepEqual(rest.texts, [JSON.stringify(ROWS.slice(4))])
  const items = await tool({ ...LINKS, maxItems: 2 })()
  assert.deepEqual(items.requests, ['/list'])
  assert.deepEqual(items.texts, [
    JSON.stringify(rowsOf(1)),
    'Pages: 1 read, and there are more. For the rest, call again with arguments that ask for less, such as a filter.',
  ])
})

test('the arguments for the rest have their type, and are those that change alone', async () => {
  const more = (link: string) => {
    answer = (response, query) =>
      linked(response, query.has('page') ? 1 : 2, `<${link}>; rel=next`, [{ id: 1 }])
  }
  const number = arg('page', 'query', { type: 'integer' })
  const labels = arg('labels', 'query', { type: 'array', items: { type: 'string' } })
  const first = { ...LINKS, maxItems: 1 }
  const given = { labels: ['a', 'b'] }
  const rest = async (args: Arg[]) =>
    (await tool(first, { args })(given)).texts.at(-1)!.split('call again with ')[1]
  more('?labels=a&labels=b&page=2')
  assert.equal(await rest([number, labels]), '`page`: 2.')
  const other = 'arguments that ask for less, such as a filter.'
  assert.equal(await rest([labels]), other)
  more('?labels=b&page=2&snapshot=7')
  assert.equal(await rest([number, labels]), other)
  more('?page=2')
  assert.equal(await rest([number, labels]), other)
})

test('a path with two slashes and long pages stay within the list', async () => {
  const numbers = { pages: { next: 'page: +1', max: 2 } }
  answer = (response, _, page) =>
    json(
      response,
      Array.from({ length: 140_000 }, () => page),
    )
  const { requests, pages, result } = await tool(numbers, { endpoint: `${target.origin}//list` })()
  assert.deepEqual(requests, ['//list', '//list?page=2'])
  assert.equal(pages, 2)
  assert.equal(result.isError, undefined)
  const more = await tool({ pages: { next: 'page: +1', max: 9 }, maxItems: 300_000 })()
  assert.deepEqual(more.requests, ['/list', '/list?page=2', '/list?page=3'])
  assert.match(
    more.texts.at(-1)!,
    /^Pages: 2 read; the next one could not be read: the pages together are too large/,
  )
})

test('a page at another origin is not requested', async () => {
  const others: string[] = []
  const other = await upstream((response, { url }) => {
    others.push(url)
    json(response, [{ id: 'stolen' }])
  })
  const headers = { Authorization: 'Bearer s3cr3t-token' }
  const links = [`${other.origin}/list?page=2`, `//${new URL(other.origin).host}/x`, 'ftp://a/b', 'data:,[]']
  for (const link of links) {
    answer = (response, _, page) => linked(response, page, `<${link}>; rel=next`)
    const { texts, requests, result } = await tool(LINKS, { headers })()
    assert.equal(requests.length, 1)
    assert.equal(result.isError, undefined)
    assert.deepEqual(JSON.parse(texts[0]!), rowsOf(1))
    assert.match(
      texts[1]!,
      /^Pages: 1 read\. The next page is at another origin, [^ ]+, and was not requested\.$/,
    )
  }
  assert.deepEqual(others, [])
  const withLogin = target.origin.replace('//', '//user:password@')
  answer = (response, _, page) => linked(response, page, `<${withLogin}/list?page=2>; rel=next`)
  assert.equal((await tool(LINKS, { headers })()).requests.length, 1)
})

test('links in circles, and to what is no URL, end it', async () => {
  for (const link of [
    '<?page=1>; rel=next',
    '</list>; rel=next',
    '<http://[>; rel=next',
    '<%2e%2e/%2e/x>; rel=next',
  ]) {
    answer = (response, _, page) => linked(response, page, link)
    const { requests, texts } = await tool({ pages: { next: 'link', max: 50 } })()
    assert.ok(requests.length <= 2, link)
    assert.match(texts.at(-1)!, /^Pages: [12] read\. The link to the next page /)
  }
})

test('what fails behind the first page leaves the pages before it', async () => {
  const broken: [(response: ServerResponse) => unknown, RegExp][] = [
    [(response) => json(response, { message: 'no' }, 500), /could not be read: status 500\. For/],
    [(response) => response.destroy(), /could not be read: http:\/\/127\.0\.0\.1:\d+ closed .*\. For/],
    [(response) => json(response, { message: 'no list' }), /could not be read: it has no list\. For/],
    [(response) => response.end('[1,'), /could not be read: it has no list\. For/],
    [
      (response) => json(response, 'x'.repeat(20_000)),
      /could not be read: the pages together are too large\. For/,
    ],
  ]
  for (const [fail, said] of broken) {
    answer = (response, query, page) => (page === 2 ? fail(response) : withLinks(response, query, page))
    const { result, texts, detail, pages } = await tool(LINKS, { limits: { maxResponseSize: 10_000 } })()
    assert.equal(result.isError, undefined)
    assert.deepEqual(JSON.parse(texts[0]!), rowsOf(1))
    assert.match(texts[1]!, said)
    assert.equal(pages, undefined)
    assert.match(String(detail), /^page 2 was not read: failed$/)
  }
  answer = (response) => json(response, { message: 'no' }, 404)
  const first = await tool(LINKS)()
  assert.deepEqual([first.result.isError, first.texts.length], [true, 1])
  answer = (response) => json(response, { items: [] })
  assert.match((await tool(LINKS)()).texts[1]!, /does not have the list whose pages follow each other/)
})

test('the time and the size of a call are those of all pages together', async () => {
  answer = (response, query, page) => (page < 3 ? withLinks(response, query, page) : undefined)
  const timed = await tool(LINKS, { limits: { timeout: 2_000 } })()
  assert.equal(timed.result.isError, undefined)
  assert.deepEqual(JSON.parse(timed.texts[0]!), ROWS.slice(0, 4))
  assert.match(timed.texts[1]!, /^Pages: 2 read; the next one could not be read: .*within 2 s \(timeout\)\./)
  answer = withLinks
  const size = JSON.stringify(rowsOf(1)).length
  const sized = await tool(LINKS, { limits: { maxResponseSize: size * 2 + 5 } })()
  assert.match(
    sized.texts[1]!,
    /^Pages: 2 read; the next one could not be read: the pages together are too large/,
  )
})

test('a cancelled call ends, also between pages', async () => {
  const signal = new Cancellation()
  answer = (response, query, page) => {
    if (page === 2) signal.abort()
    else withLinks(response, query, page)
  }
  const { failure, result, requests } = await tool(LINKS)({}, { signal })
  assert.deepEqual([failure, result.isError, requests.length], ['cancelled', true, 2])
})

test('each page is judged, repeated and counted as any other request', async () => {
  answer = withLinks
  const headers = { 'X-Key': 'k' }
  let failures = 0
  answer = (response, query, page) =>
    page === 2 && failures++ === 0 ? json(response, {}, 503) : withLinks(response, query, page)
  const resilience = new Resilience({ name: 'a', wait: async () => {} })
  const repeated = await tool(LINKS, { headers, retry: { attempts: 2 } }, { resilience })()
  assert.deepEqual(repeated.requests, ['/list', '/list?page=2', '/list?page=2', '/list?page=3'])
  assert.equal(target.last().headers['x-key'], 'k')
  assert.deepEqual(JSON.parse(repeated.texts[0]!), ROWS)
})

test('every page tells of progress where the client asks', async () => {
  answer = withLinks
  const told: [number, string][] = []
  await tool(LINKS)({}, { progress: (done, message) => told.push([done, message]) })
  assert.deepEqual(told, [
    [2, 'Page 2 read'],
    [3, 'Page 3 read'],
  ])
})

test('shaping, templates, structured content and secrets see one response', async () => {
  answer = (response, _, page) =>
    page < 3
      ? linked(response, page, `<?page=${page + 1}>; rel=next`, { total: 5, items: rowsOf(page) })
      : json(response, { total: 5, items: rowsOf(page) })
  const items = {
    type: 'array',
    maxItems: 2,
    uniqueItems: true,
    items: { type: 'object', properties: { id: { type: 'integer' } } },
  }
  const outputSchema = {
    type: 'object',
    properties: { total: { type: 'integer' }, items },
    required: ['total'],
  }
  const pages = { next: 'link', items: 'items', max: 10 }
  const shaped = await tool({ select: 'total, items[].id', pages }, { outputSchema })()
  assert.deepEqual(shaped.result.structuredContent, { total: 5, items: ROWS.map(({ id }) => ({ id })) })
  const [definition] = compileAll([
    makeTool({
      endpoint: target.origin,
      outputSchema,
      response: { drop: [], format: 'json', fields: false, pages },
    }),
  ]).tools.list()
  assert.doesNotMatch(JSON.stringify(definition!.outputSchema), /maxItems|uniqueItems/)
  const templated = await tool(
    { pages },
    { responseBody: '{{len .Response.Data.items}} of {{.Response.Data.total}}' },
  )()
  assert.equal(templated.texts[0], '5 of 5')
  answer = (response, _, page) => linked(response, page, '<?q=s3cr3t-token>; rel=next')
  const secret = await tool(
    { pages: { next: 'link', max: 2 }, maxItems: 1 },
    { headers: { Authorization: 'Bearer s3cr3t-token' }, args: [arg('q', 'query')] },
  )()
  assert.equal(
    secret.texts.at(-1),
    'Pages: 1 read, and there are more. For the rest, call again with `q`: "***".',
  )
})

test('only GET requests have pages', async () => {
  answer = withLinks
  const { requests, texts } = await tool(LINKS, { method: 'POST' })()
  assert.deepEqual([requests.length, texts.length], [1, 1])
})

test('through the gateway: progress, the log and the metric', async (t: TestContext) => {
  answer = withLinks
  const { base, logged } = await gatewayHere(t, {
    name: 'paged',
    routers: [{ server: 'paged', prefix: '/paged' }],
    servers: [{ name: 'paged' }],
    tools: [
      {
        name: 'list',
        description: 'Lists plants',
        endpoint: `${target.origin}/list`,
        response: { pages: { next: 'link' } },
      },
    ],
  })
  const params = { name: 'list', arguments: {}, _meta: { progressToken: 7 } }
  const messages = await modern(`${base}/paged/mcp`).all('tools/call', params)
  assert.deepEqual(
    messages.slice(0, -1).map(({ params }) => params),
    [2, 3].map((progress) => ({ progressToken: 7, progress, message: `Page ${progress} read` })),
  )
  assert.deepEqual(JSON.parse(messages.at(-1).result.content[0].text), ROWS)
  assert.equal(logged.find(({ msg }) => msg === 'tool call')?.pages, 3)
  const metrics = await (await fetch(`${base}/metrics`)).text()
  assert.match(metrics, /plantgw_further_pages_total\{tenant="default",prefix="\/paged",tool="list"\} 2\n/)
})
