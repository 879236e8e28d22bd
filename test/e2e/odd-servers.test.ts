import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { listening } from '../support/listening.ts'
import { run, temporaryFolder } from '../support/process.ts'

const HTML = { 'content-type': 'text/html' }
const JSON_TYPE = { 'content-type': 'application/json' }
const ASKS = '. Is this the address of its MCP endpoint? For a gateway it is {prefix}/mcp or {prefix}/sse'
const LOGIN = '--token, PLANTGW_TOKEN, or --header "Authorization: Bearer …"'

/** What servers that do not speak MCP answer, and what the command says then. */
const ANSWERS: [status: number, headers: Record<string, string>, body: string, said: string][] = [
  [401, JSON_TYPE, '{"error":"token expired"}', `token expired (status 401). Give a credential: ${LOGIN}`],
  [403, HTML, '<title>Blocked by policy</title>', 'Blocked by policy (status 403)'],
  [404, HTML, '<title>404 Not Found</title>', `404 Not Found (status 404)${ASKS}`],
  [429, { 'retry-after': '17' }, 'slow down', 'slow down (status 429); try again in 17 s'],
  [
    503,
    { ...HTML, 'retry-after': '30' },
    '<title>Maintenance</title>',
    'Maintenance (status 503); try again in 30 s',
  ],
  [200, HTML, '<title>Sign in</title>', `Sign in (status 200)${ASKS}`],
  [200, JSON_TYPE, '{"hello":1}', `the answer is no message of MCP (status 200)${ASKS}`],
  [200, {}, '', `the answer is no message of MCP (status 200)${ASKS}`],
  [
    302,
    { location: 'https://sso.example.com/' },
    '',
    `it redirects to https://sso.example.com/ (status 302)${ASKS}`,
  ],
]

test('a server that does not speak MCP: its own words, and then a guess', async (t) => {
  const server = createServer(({ url }, response) => {
    const [status, headers, body] = ANSWERS[Number(/^\/(\d)$/.exec(url!)?.[1])] ?? [404, {}, '']
    response.writeHead(status, headers).end(body)
  })
  const base = `http://127.0.0.1:${await listening(t, server)}`
  const cwd = temporaryFolder(t)
  for (const [i, [, , , said]] of ANSWERS.entries()) {
    const { code, stdout, stderr } = await run(t, ['tools', `${base}/${i}`], { cwd })
    assert.deepEqual([code, stdout, stderr], [2, '', `plantgw: ${base}/${i}: ${said}\n`])
  }
})

test('targets that are no servers', async (t) => {
  const cwd = temporaryFolder(t)
  const told = async (...args: string[]) => (await run(t, args, { cwd })).stderr
  assert.equal(
    await told('tools', 'ftp://a/b'),
    'plantgw: ftp://a/b: servers are called over http and https only\n',
  )
  await run(t, ['init'], { cwd })
  assert.match(
    await told('call', 'configs/plants.yaml', 'x'),
    /configs\/plants\.yaml is a file: serve it first/,
  )
  assert.match(await told('init', 'plantgw.yaml'), /plantgw\.yaml is not a folder; nothing was written/)
  assert.match(await told('schema', 'foo'), /unknown name "foo": choose one of configuration, settings, lint/)
  assert.match(
    await told('validate', '--format', 'yaml'),
    /--format cannot be "yaml": choose one of text, json/,
  )
})
