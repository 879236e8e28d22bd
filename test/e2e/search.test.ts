import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { run, temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'

const SHOP = `name: shop
routers: [{server: orders, prefix: /shop}]
servers: [{name: orders}]
tools:
  - name: list_orders
    description: Lists orders. The newest first.
    endpoint: http://localhost:1/orders
  - name: create_refund
    description: Creates a refund.
    method: POST
    endpoint: http://localhost:1/refunds
    group: money
    keywords: [goodwill]
`

/** An MCP server with two tools. */
const BIRDS = `
  const tools = ['echo', 'hawk'].map((name) => ({ name, description: 'Papagei', inputSchema: { type: 'object' } }))
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    const results = {
      initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'b', version: '1' } },
      'tools/list': { tools },
    }
    const answer = method in results ? { result: results[method] } : { error: { code: -32601, message: 'no' } }
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
`

function written(t: TestContext, files: Record<string, string>): string {
  const folder = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

describe('search', () => {
  test('shows the rank, the group and the words that matched', async (t) => {
    const folder = written(t, { 'shop.yaml': SHOP })
    const { code, stdout, stderr } = await run(t, ['search', folder, 'give the money back'])
    assert.equal(stderr, '')
    assert.equal(
      stdout,
      [
        '  1  create_refund  money',
        '     Creates a refund.',
        '       money back → refund (name, summary, path)',
        '       give → create (name, summary, method)',
        '1 of 2 tools',
        '',
      ].join('\n'),
    )
    assert.equal(code, 0)
  })

  test('as JSON, with limits, groups, keywords and several queries', async (t) => {
    const folder = written(t, { 'shop.yaml': SHOP })
    const search = async (...args: string[]) => {
      const { code, stdout } = await run(t, ['search', folder, ...args, '--json'])
      const { tools, results } = JSON.parse(stdout)
      return { code, tools, names: results.map((one: { name: string }) => one.name), results }
    }
    const { results, tools } = await search('goodwill')
    assert.equal(tools, 2)
    assert.deepEqual(results, [
      {
        rank: 1,
        name: 'create_refund',
        group: 'money',
        summary: 'Creates a refund.',
        matches: [{ word: 'goodwill', matched: 'goodwill', fields: ['keywords'] }],
      },
    ])
    assert.deepEqual((await search('orders', 'refunds')).names.sort(), ['create_refund', 'list_orders'])
    assert.equal((await search('orders', 'refunds', '--limit', '1')).names.length, 1)
    assert.deepEqual((await search('orders', 'refunds', '--group', 'orders')).names, ['list_orders'])
    const none = await search('zeppelin')
    assert.deepEqual([none.code, none.names], [1, []])
  })

  test('a proxied server of a file is asked, and what the file says of its tools counts', async (t) => {
    const folder = written(t, {
      'a.yaml': `name: a
routers: [{server: files, prefix: /a}]
mcpServers:
  - name: files
    type: stdio
    command: ${process.execPath}
    args: [-e, ${JSON.stringify(BIRDS)}]
    blockedTools: [hawk]
    toolOverrides:
      echo: {name: parrot, keywords: [Papagei], group: birds}
  - {name: broken, type: stdio, command: /does/not/exist}
`,
    })
    const { code, stdout, stderr } = await run(t, ['search', folder, 'papagei', '--json'])
    assert.match(stderr, /^plantgw: broken: /)
    assert.equal(code, 0)
    const [found] = JSON.parse(stdout).results
    assert.deepEqual([found.name, found.group], ['parrot', 'birds'])
  })

  test('the tools of a prefix of a running gateway', async (t) => {
    const { port } = await served(t, [parse(SHOP)])
    const { stdout } = await run(t, ['search', `http://127.0.0.1:${port}/shop/mcp`, 'refund', '--json'])
    assert.deepEqual(
      JSON.parse(stdout).results.map((one: { name: string }) => one.name),
      ['create_refund'],
    )
  })

  test('all tools of a prefix with discovery are searched, and those not listed are called by name', async (t) => {
    const { port } = await served(t, [
      parse(SHOP.replace('prefix: /shop', 'prefix: /shop, discovery: {type: search}')),
    ])
    const settings = join(temporaryFolder(t), 'plantgw.yaml')
    writeFileSync(settings, `port: ${port}\n`)
    const { stdout } = await run(t, ['search', '/shop', 'refund', '--json', '--settings', settings])
    const { tools, results } = JSON.parse(stdout)
    assert.deepEqual([tools, results[0].name], [2, 'create_refund'])
    const url = `http://127.0.0.1:${port}/shop/mcp`
    const called = await run(t, ['call', url, 'list_orders'])
    assert.match(called.stdout, /^http:\/\/localhost:1 refused the connection/)
    assert.equal(called.code, 1)
    const unknown = await run(t, ['call', '/shop', 'list_order', '--settings', settings])
    assert.match(
      unknown.stderr,
      /^plantgw: tools\/call: .*list_order.*; no tool list_order: did you mean list_orders\?/,
    )
  })

  test('files with errors, and a target that is nothing', async (t) => {
    const folder = written(t, { 'shop.yaml': SHOP.replace('server: orders', 'server: ordres') })
    const { code, stderr } = await run(t, ['search', folder, 'refund'])
    assert.equal(code, 1)
    assert.match(stderr, /dangling-server/)
    const host = await run(t, ['tools', '127.0.0.1:25000/plants/mcp'])
    assert.match(host.stderr, /is not a URL: did you mean http:\/\/127\.0\.0\.1:25000\/plants\/mcp\?/)
    assert.equal(host.code, 2)
    const nothing = await run(t, ['search', 'no-such-folder', 'refund'])
    assert.equal(nothing.code, 2)
    assert.match(nothing.stderr, /no-such-folder is neither a file, a URL such as/)
  })
})
