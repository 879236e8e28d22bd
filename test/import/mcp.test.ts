import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { type ImportedServers, importServers } from '../../src/import/mcp-configurations.ts'
import { everythingStdio } from '../fixtures/everything/start.ts'
import { served } from '../support/served.ts'
import type { Loose } from '../support/wire.ts'
import { findingsIn } from './sound.ts'

/** The login of the operator that a hosted server may ask for. */
const LOGIN = { type: 'oauth', for: 'gateway' }

async function imported(text: string): Promise<ImportedServers & { servers: Loose }> {
  const made = importServers({ file: 'mcp.json', text })
  assert.ok(made.fault === undefined && !made.findings, JSON.stringify(made))
  const env = Object.fromEntries(made.variables.map((one) => [one.name, `https://example.com/${one.name}`]))
  const values = made.configurations.map((one) => [one.name, parse(one.text)])
  for (const one of made.configurations)
    assert.deepEqual(await findingsIn(one.text, { HOME: '/home/me', ...env }), [], one.text)
  const servers = Object.fromEntries(
    values.map(([own, value]) => [own, { name: value.name, ...value.mcpServers[0] }]),
  )
  return { ...made, servers }
}

const names = ({ variables }: ImportedServers) => variables.map(({ name }) => name)
const GITHUB = `ghp_${'aB3dE5fG7h'.repeat(4).slice(0, 36)}`

describe('files of clients', () => {
  test('Claude Desktop: a command, a secret by its name, others by their form, and what a shell would expand', async () => {
    const { servers, variables, skipped, configurations } = await imported(
      JSON.stringify({
        mcpServers: {
          github: {
            command: 'npx',
            args: ['-y', 'server-github'],
            env: { GITHUB_TOKEN: 'abc', LOG_LEVEL: 'debug', PORT: 80 },
          },
          'My DB': {
            command: 'npx',
            args: [
              'db',
              'postgresql://me:s3cretpw99@db.example.com/x',
              '--api-key=zzz',
              '--token',
              'yyy',
              GITHUB,
            ],
          },
          files: { command: 'npx', args: ['files', '~/notes', '$HOME/x', '{"a": 1}'] },
          old: { command: 'x', disabled: true },
        },
        globalShortcut: 'Ctrl+Space',
      }),
    )
    assert.deepEqual(servers.github, {
      name: 'github',
      type: 'stdio',
      command: 'npx',
      args: ['-y', 'server-github'],
      env: { GITHUB_TOKEN: '${GITHUB_TOKEN}', LOG_LEVEL: 'debug', PORT: '80' },
    })
    assert.deepEqual(
      servers['my-db'].args,
      (
        'db postgresql://me:${MY_DB_PASSWORD}@db.example.com/x --api-key=${MY_DB_API_KEY} --token ' +
        '${MY_DB_TOKEN} ${MY_DB_TOKEN_2}'
      ).split(' '),
    )
    assert.deepEqual(servers.files.args, ['files', '${HOME}/notes', '${HOME}/x', '{"a": 1}'])
    assert.deepEqual(skipped, [{ name: 'old', reason: 'it is disabled' }])
    assert.ok(variables.every(({ value }) => value !== undefined))
    const all = configurations.map(({ text }) => text).join('')
    for (const secret of ['abc', 's3cretpw99', 'zzz', 'yyy', GITHUB]) assert.ok(!all.includes(secret), secret)
  })

  test('Claude Code: types, variables with and without a default, headers', async () => {
    const made = await imported(
      JSON.stringify({
        mcpServers: {
          api: {
            type: 'http',
            url: '${API_BASE:-https://api.example.com}/mcp',
            headers: { Authorization: 'Bearer ${API_KEY}', 'X-Team': 'a' },
          },
          events: {
            type: 'sse',
            url: 'https://events.example.com/x',
            headers: { 'X-Api-Key': 'secret-value' },
          },
        },
        projects: {
          '/home/me': { mcpServers: { own: { command: 'node', args: ['${workspaceFolder}/x.js'] } } },
        },
      }),
    )
    assert.equal(made.servers.api.url, '${API_BASE:https://api.example.com}/mcp')
    assert.deepEqual(made.servers.api.headers, { Authorization: 'Bearer ${API_KEY}', 'X-Team': 'a' })
    assert.deepEqual(
      [made.servers.events.type, made.servers.events.headers],
      ['sse', { 'X-Api-Key': '${EVENTS_X_API_KEY}' }],
    )
    assert.deepEqual(made.servers.own.args, ['${WORKSPACE_FOLDER}/x.js'])
    assert.deepEqual(names(made), ['API_BASE', 'API_KEY', 'EVENTS_X_API_KEY', 'WORKSPACE_FOLDER'])
  })

  test('Cursor and Windsurf: URLs without a type, `serverUrl`, `env:`, tools that are switched off', async () => {
    const made = await imported(
      JSON.stringify({
        mcpServers: {
          one: { url: 'https://mcp.example.com/sse', headers: { Authorization: '${env:ONE_TOKEN}' } },
          two: { serverUrl: 'https://mcp.example.com/mcp?apiKey=abc&team=x', disabledTools: ['drop'] },
        },
      }),
    )
    assert.deepEqual([made.servers.one.type, made.servers.two.type], ['sse', 'streamable-http'])
    assert.equal(made.servers.one.headers.Authorization, '${ONE_TOKEN}')
    assert.equal(made.servers.two.url, 'https://mcp.example.com/mcp?apiKey=${TWO_API_KEY}&team=x')
    assert.deepEqual(made.servers.two.blockedTools, ['drop'])
  })

  test('a hosted server without a secret asks for a login; Claude Code, Cursor and Gemini name the client', async () => {
    const url = 'https://mcp.example.com/mcp'
    const made = await imported(
      JSON.stringify({
        mcpServers: {
          plain: { url },
          key: { url, headers: { 'X-Api-Key': 'abcdefghijkl' } },
          token: { url, headers: { authorization: 'Bearer abcdefghijkl' }, oauth: {} },
          claude: { type: 'http', url, oauth: { clientId: 'me', callbackPort: 8080, scopes: 'a b' } },
          cursor: { url, auth: { CLIENT_ID: '${env:ID}', CLIENT_SECRET: 'abcdefgh', scopes: ['a:b'] } },
          fast: { url, headers: { 'X-Api-Key': 'abcdefghijkl' }, auth: 'oauth' },
        },
      }),
    )
    const credentials = Object.values<Loose>(made.servers).map((server) => server.credentials)
    assert.deepEqual(credentials, [
      LOGIN,
      undefined,
      undefined,
      { ...LOGIN, clientId: 'me', scopes: ['a', 'b'] },
      { ...LOGIN, clientId: '${ID}', clientSecret: '${CURSOR_CLIENT_SECRET}', scopes: ['a:b'] },
      LOGIN,
    ])
    assert.deepEqual(made.logins, ['plain', 'claude', 'cursor', 'fast'])
    assert.deepEqual(made.notes, [{ name: 'claude', note: 'its `oauth.callbackPort` is not imported' }])
  })

  test('VS Code: `servers` with comments, `inputs`, and the servers of its settings', async () => {
    const text = `{
      // asked once
      "inputs": [{ "type": "promptString", "id": "perplexity-key", "password": true }],
      "servers": {
        "perplexity": {
          "type": "stdio", "command": "npx", "args": ["-y", "server-perplexity-ask"],
          "env": { "PERPLEXITY_API_KEY": "\${input:perplexity-key}" }, "envFile": ".env",
        },
      },
    }`
    const made = await imported(text)
    assert.deepEqual(made.servers.perplexity.env, { PERPLEXITY_API_KEY: '${PERPLEXITY_KEY}' })
    assert.deepEqual(made.variables, [{ name: 'PERPLEXITY_KEY', use: '`env` of perplexity' }])
    assert.match(made.notes[0]!.note, /`envFile` is not read/)
    const settings = await imported(`{"editor.tabSize": 2, "mcp": {"servers": {"a": {"command": "x"}}}}`)
    assert.equal(settings.servers.a.command, 'x')
  })

  test('TBXark mcp-proxy: tokens of callers, filters of tools, sse where nothing is said', async () => {
    const made = await imported(`{
      "mcpProxy": { "addr": ":9090", "options": { "authTokens": ["everyone"] } },
      "mcpServers": {
        "github": { "command": "npx", "args": ["gh"], "options": { "toolFilter": { "mode": "block", "list": ["delete"] } } },
        "amap": { "url": "https://mcp.example.com/mcp?key=x", "options": { "toolFilter": { "mode": "allow", "list": ["find"] }, "authTokens": ["one", "two"] } },
        "http": { "url": "https://mcp.example.com/x", "transportType": "streamable-http" }
      }
    }`)
    assert.deepEqual(
      [made.servers.github.blockedTools, made.servers.amap.allowedTools],
      [['delete'], ['find']],
    )
    assert.deepEqual([made.servers.amap.type, made.servers.http.type], ['sse', 'streamable-http'])
    const tokens = made.configurations.map(({ text }) =>
      parse(text).routers[0].auth.tokens.map((one: Loose) => one.token),
    )
    assert.deepEqual(tokens, [
      ['${CALLER_TOKEN}'],
      ['${AMAP_CALLER_TOKEN}', '${AMAP_CALLER_TOKEN_2}'],
      ['${CALLER_TOKEN}'],
    ])
  })

  test('commands as a list, and as Windows starts them', async () => {
    const made = await imported(
      '{"mcpServers": {"list": {"type": "local", "command": ["npx", "-y", "x"]}, "windows": {"command": "cmd", "args": ["/c", "npx", "y"]}}}',
    )
    const { list, windows } = made.servers
    assert.deepEqual(
      [list.command, list.args, windows.command, windows.args],
      ['npx', ['-y', 'x'], 'npx', ['y']],
    )
  })

  test('a bridge in a client is the server behind it', async () => {
    const made = await imported(
      JSON.stringify({
        mcpServers: {
          linear: {
            command: 'npx',
            args: [
              '-y',
              'mcp-remote@0.1.18',
              'https://mcp.example.com/sse',
              '--header',
              'Authorization:${AUTH}',
            ],
            env: { AUTH: 'Bearer abcdef' },
          },
          proxied: {
            command: 'uvx',
            args: ['mcp-proxy', '--transport=streamablehttp', 'https://mcp.example.com/mcp'],
            env: { API_ACCESS_TOKEN: 'abcdef' },
          },
        },
      }),
    )
    assert.deepEqual(made.servers.linear, {
      name: 'linear',
      type: 'sse',
      url: 'https://mcp.example.com/sse',
      headers: { Authorization: 'Bearer ${LINEAR_TOKEN}' },
    })
    assert.deepEqual(
      [made.servers.proxied.type, made.servers.proxied.headers],
      ['streamable-http', { Authorization: 'Bearer ${PROXIED_TOKEN}' }],
    )
  })

  test('addresses that are advised against are kept, with a comment', async () => {
    const made = await imported(
      '{"mcpServers": {"a": {"url": "http://10.0.0.1/sse"}, "b": {"url": "http://mcp.example.org/mcp"}}}',
    )
    assert.match(
      made.configurations[0]!.text,
      /url: http:\/\/10\.0\.0\.1\/sse # plantgw-ignore private-address: /,
    )
    assert.match(made.configurations[1]!.text, /plantgw-ignore plain-http: /)
  })
})

describe('command lines', () => {
  const lines: [line: string, server: object][] = [
    [
      'npx -y supergateway --stdio "npx -y @modelcontextprotocol/server-filesystem \'/my files\'" --port 8000 --ssePath /sse',
      {
        name: 'filesystem',
        type: 'stdio',
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/my files'],
      },
    ],
    [
      'npx -y supergateway --sse https://mcp.example.com/sse --oauth2Bearer abc --header "x-user: 1"',
      {
        name: 'example',
        type: 'sse',
        url: 'https://mcp.example.com/sse',
        headers: { 'x-user': '1', Authorization: 'Bearer ${EXAMPLE_TOKEN}' },
      },
    ],
    [
      'supergateway --streamableHttp=https://mcp.example.com/mcp',
      { name: 'example', type: 'streamable-http', url: 'https://mcp.example.com/mcp', credentials: LOGIN },
    ],
    [
      '$ uvx mcp-proxy --port 8080 -e A b -- uvx mcp-server-git -r .',
      { name: 'git', type: 'stdio', command: 'uvx', args: ['mcp-server-git', '-r', '.'], env: { A: 'b' } },
    ],
    [
      'mcp-proxy --headers Authorization "Bearer abc" https://mcp.example.com/sse',
      {
        name: 'example',
        type: 'sse',
        url: 'https://mcp.example.com/sse',
        headers: { Authorization: 'Bearer ${EXAMPLE_TOKEN}' },
      },
    ],
    [
      'npx mcp-remote https://mcp.example.com/mcp',
      { name: 'example', type: 'streamable-http', url: 'https://mcp.example.com/mcp', credentials: LOGIN },
    ],
    [
      `npx mcp-remote http://localhost:3000/mcp`,
      { name: 'localhost', type: 'streamable-http', url: 'http://localhost:3000/mcp' },
    ],
    [
      `mcp-remote https://mcp.example.com/v1/sse --resource https://x.example.com/ --static-oauth-client-info '{"client_id":"me","client_secret":"abcdefgh"}' --static-oauth-client-metadata '{"scope":"a b"}'`,
      {
        name: 'example',
        type: 'sse',
        url: 'https://mcp.example.com/v1/sse',
        credentials: {
          ...LOGIN,
          ...{ clientId: 'me', clientSecret: '${EXAMPLE_CLIENT_SECRET}' },
          ...{ scopes: ['a', 'b'], resource: 'https://x.example.com/' },
        },
      },
    ],
    [
      'uvx mcp-server-time --local-timezone UTC',
      { name: 'time', type: 'stdio', command: 'uvx', args: ['mcp-server-time', '--local-timezone', 'UTC'] },
    ],
  ]
  for (const [line, server] of lines)
    test(line, async () => {
      const made = await imported(line)
      assert.deepEqual(Object.values(made.servers), [server])
    })
  test('several lines, some of which continue; named servers', async () => {
    const made = await imported(
      '# mine\nmcp-proxy \\\n  --named-server a "uvx a" --named-server b "uvx b"\n\nuvx mcp-server-c\n',
    )
    assert.deepEqual(Object.keys(made.servers), ['a', 'b', 'c'])
  })
})

test('what has no servers is told as what it is', () => {
  const faults: [text: string, fault: RegExp][] = [
    [
      '{"openapi": "3.1.0", "info": {}, "paths": {}}',
      /^it is an OpenAPI description\. Convert it: `plantgw import openapi mcp\.json`$/,
    ],
    ['{"a": 1}', /neither `mcpServers` nor `servers`/],
    ['{"mcpServers": {}, "projects": {"/a": {"mcpServers": {}}}}', /lists none: name the file of a client/],
    ['[1]', /not an object|command line/],
    ['', /it is empty/],
    ['echo "a', /a quote is not closed/],
    ['supergateway --port 1', /given neither a command nor a URL/],
  ]
  for (const [text, fault] of faults)
    assert.match(importServers({ file: 'mcp.json', text }).fault ?? '', fault)
  assert.equal(
    importServers({ file: 'mcp.json', text: '{"mcpServers": {' }).findings?.[0]?.code,
    'yaml-syntax',
  )
})

describe('secrets of servers', () => {
  /** A text of a server, what it becomes, and the secrets that are nowhere in the configuration. */
  const ARGS: [words: string[], made: string[]][] = [
    [
      ['--header', 'Authorization: Bearer t1'],
      ['--header', 'Authorization: Bearer ${S_TOKEN}'],
    ],
    [['--header=X-Api-Key:k1'], ['--header=X-Api-Key:${S_X_API_KEY}']],
    [['--env=SECRET_TOKEN=t1'], ['--env=SECRET_TOKEN=${S_SECRET_TOKEN}']],
    [
      ['-e', 'API_KEY=k1 k2'],
      ['-e', 'API_KEY=${S_API_KEY}'],
    ],
    [
      ['-c', 'API_KEY=k1 node x --token "t 2" --port 80'],
      ['-c', 'API_KEY=${S_API_KEY} node x --token "${S_TOKEN}" --port 80'],
    ],
    [
      ['https://u:p1@example.com/?api_key=k1&page=2&token=t1'],
      ['https://u:${S_PASSWORD}@example.com/?api_key=${S_API_KEY}&page=2&token=${S_TOKEN}'],
    ],
    [['postgresql://h/db?user=u&password=testpw1'], ['postgresql://h/db?user=u&password=${S_PASSWORD}']],
    [['Server=h;User=sa;Password=p1;Encrypt=True'], ['Server=h;User=sa;Password=${S_PASSWORD};Encrypt=True']],
    [['{"token": "t1", "page": "2"}'], ['{"token": "${S_TOKEN}", "page": "2"}']],
    [
      ['--max-token=4096', '--ssl-key', '/etc/ssl/k.pem'],
      ['--max-token=4096', '--ssl-key', '/etc/ssl/k.pem'],
    ],
  ]
  for (const [words, made] of ARGS)
    test(`arguments: ${words.join(' ')}`, async () => {
      const { servers } = await imported(JSON.stringify({ mcpServers: { s: { command: 'x', args: words } } }))
      assert.deepEqual(servers.s.args, made)
    })

  test('in the values of other variables, and in the path of a URL', async () => {
    const token = `NzU5YzY3${'ZTEtYjY5Zi00'.repeat(3)}`
    const { servers } = await imported(
      JSON.stringify({
        mcpServers: {
          notion: {
            command: 'npx',
            env: { HEADERS: '{"Authorization": "Bearer n1", "Notion-Version": "2022"}' },
          },
          db: { command: 'npx', env: { DATABASE_URL: 'mysql://root:testpass@h/db' } },
          hook: { url: `https://mcp.example.com/s/${token}/mcp` },
        },
      }),
    )
    assert.equal(
      servers.notion.env.HEADERS,
      '{"Authorization": "Bearer ${NOTION_TOKEN}", "Notion-Version": "2022"}',
    )
    assert.equal(servers.db.env.DATABASE_URL, 'mysql://root:${DB_PASSWORD}@h/db')
    assert.equal(servers.hook.url, 'https://mcp.example.com/s/${HOOK_TOKEN}/mcp')
  })

  test('a secret has no name that another server reads, whichever comes first', async () => {
    const { servers, variables } = await imported(
      JSON.stringify({
        mcpServers: {
          one: { command: 'x', env: { API_KEY: 'k1' } },
          two: { command: 'x', env: { API_KEY: '${API_KEY}' } },
          three: { command: 'x', env: { API_KEY: 'k3' } },
          four: { command: 'x', env: { API_KEY: 'k1' } },
        },
      }),
    )
    const keys = ['one', 'two', 'three', 'four'].map((name) => servers[name].env.API_KEY)
    assert.deepEqual(keys, ['${ONE_API_KEY}', '${API_KEY}', '${THREE_API_KEY}', '${FOUR_API_KEY}'])
    assert.deepEqual(
      variables.filter(({ value }) => value === undefined).map(({ name }) => name),
      ['API_KEY'],
    )
  })
})

test('what no process can be given and no request can carry is left out with a note', async () => {
  const { servers, skipped, notes } = await imported(
    JSON.stringify({
      mcpServers: {
        env: { command: 'x', env: { '': 'a', 'A=B': 'b', C: 'c\0', D: 'd\ne', 'MY-E': 'e', '2F': 'f' } },
        headers: {
          url: 'https://example.com/mcp',
          headers: { 'X Y': '1', 'X-Z': 'a\r\nX-Evil: 1', '': '2', 'X-Ok': 'é' },
        },
        ftp: { url: 'ftp://example.com/x' },
        script: { url: 'javascript:alert(1)' },
        odd: { url: 'https://[/' },
        zero: { command: 'x', args: ['a\0b'] },
      },
    }),
  )
  assert.deepEqual([servers.env.env, servers.headers.headers], [{ D: 'd\ne' }, { 'X-Ok': 'é' }])
  assert.deepEqual(skipped, [
    { name: 'ftp', reason: 'its URL is neither http nor https' },
    { name: 'script', reason: 'its URL is neither http nor https' },
    { name: 'odd', reason: 'its URL is not valid' },
    { name: 'zero', reason: 'its command contains a null byte' },
  ])
  assert.equal(notes.length, 8)
  assert.deepEqual(
    notes.filter(({ note }) => note.includes('MY-E')),
    [
      {
        name: 'env',
        note: 'its variable "MY-E" is left out, because of its name or a null byte: start the server by a script that sets it',
      },
    ],
  )
})

test('hostile files are bounded', () => {
  const deep = `{"mcpServers": {"a": ${'['.repeat(50_000)}${']'.repeat(50_000)}}}`
  const many = JSON.stringify({
    mcpServers: Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`s${i}`, { command: 'x' }])),
  })
  const odd = JSON.stringify({
    mcpServers: {
      __proto__: { command: 'x' },
      'é\u0000\n': { command: '{{x}}' },
      a: { command: 'x', env: { 'a\nb': '{{' }, args: ['${', '$${a}', '${a b}'] },
    },
  })
  for (const text of [deep, odd])
    assert.ok(importServers({ file: '-', text }).findings ?? importServers({ file: '-', text }))
  const made = importServers({ file: '-', text: many })
  assert.ok(made.fault === undefined && !made.findings)
  assert.deepEqual([made.configurations.length, made.skipped.length], [1000, 2000])
})

test('an imported server is served, and its tools can be called', async (t) => {
  const { command, args } = everythingStdio('dual')
  const made = await imported(JSON.stringify({ mcpServers: { everything: { command, args } } }))
  const gateway = await served(t, [parse(made.configurations[0]!.text)])
  const session = await gateway.open('/everything')
  const params = { name: 'test_simple_text', arguments: {} }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const { text } = await gateway.post('/everything/mcp', message, session)
  assert.equal(JSON.parse(text).result.content[0].type, 'text')
})
