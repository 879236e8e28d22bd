import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { curlExamples } from '../../src/import/curl.ts'
import { harExamples } from '../../src/import/har.ts'
import { importServers } from '../../src/import/mcp-configurations.ts'
import { postmanExamples } from '../../src/import/postman.ts'
import type { Examples } from '../../src/import/requests.ts'
import { importUnlaSettings } from '../../src/import/unla-settings.ts'
import type { Json } from '../../src/json/index.ts'
import { document, imported } from '../openapi/imported.ts'

const leftOut = (found: Examples | { fault: string }) => {
  assert.ok(!('fault' in found), JSON.stringify(found))
  return (found.leftOut ?? []).map(({ operation, what, reason }) => `${operation}: ${what}: ${reason}`)
}
const notesOf = (text: string) => {
  const made = importServers({ file: 'mcp.json', text })
  assert.ok(made.fault === undefined && !made.findings, JSON.stringify(made))
  return made.notes.map(({ name, note }) => `${name}: ${note}`)
}

describe('an unused part of the input is reported', () => {
  test('files of clients: keys of servers, of a proxy and of the file itself', () => {
    const file = {
      globalShortcut: 'Ctrl+Space',
      inputs: [{ id: 'key' }],
      mcpProxy: { addr: ':9090', options: { logEnabled: true, authTokens: ['t'] } },
      mcpServers: {
        a: { command: 'x', autoApprove: ['find'], options: { panicIfInvalid: true }, cwd: '/x' },
        b: { url: 'https://mcp.example.com/mcp', args: ['y'], timeout: 5 },
      },
    }
    assert.deepEqual(notesOf(JSON.stringify(file)), [
      'the file: not imported: `globalShortcut`, `mcpProxy.addr`, `mcpProxy.options.logEnabled`',
      'a: its `cwd` is not kept: the process starts in the folder of the gateway',
      'a: its `autoApprove` is not imported',
      'a: its `options.panicIfInvalid` is not imported',
      'b: its `args` is not imported',
      'b: its `timeout` is not imported',
    ])
  })

  const LINES: [line: string, notes: string[]][] = [
    [
      'npx -y supergateway --stdio "uvx mcp-server-git" --header "X-A: 1" --port 80 --ssePath /s --stateful --new 1',
      [
        '`--header` is not imported: the gateway adds no headers to responses',
        '`--port 80` is not imported: use `port` and `host` of the settings, or `plantgw serve --port`',
        '`--ssePath /s` is not imported: the gateway serves `{prefix}/mcp`, `{prefix}/sse` and `{prefix}/message`',
        '`--stateful` is not imported: an endpoint serves every transport and revision',
        '`--new` is not imported',
      ],
    ],
    [
      'docker run -i --rm -p 80:80 -v /a:/b --network host supercorp/supergateway:latest --stdio "npx -y server-x" --cors /x/',
      [
        '`-v /a:/b` of docker is not imported: the server runs on this machine',
        '`--network host` of docker is not imported: the server runs on this machine',
        '`--cors /x/` is not imported: use `cors` of the router',
      ],
    ],
    [
      'mcp-proxy --pass-environment --no-verify-ssl https://mcp.example.com/sse more',
      [
        '`more` behind the URL is not imported',
        '`--pass-environment` is not imported: name the variables in `env` of the server',
        '`--no-verify-ssl` is not imported: use `tls` of the server',
      ],
    ],
    [
      'npx mcp-remote https://mcp.example.com/mcp 3334 --debug --static-oauth-client-info {"client_secret":"s"}',
      [
        '`3334` behind the URL is not imported',
        '`--debug` is not imported: use `logger.level` of the settings',
        '`--static-oauth-client-info` is not imported: add it to `credentials` of the server',
      ],
    ],
    [
      'docker run -t ghcr.io/x/y-mcp',
      ['`-t` is left out: a server has no terminal', '`-i` is added: the server reads its standard input'],
    ],
  ]
  for (const [line, notes] of LINES)
    test(line, () =>
      assert.deepEqual(
        notesOf(line).map((note) => note.replace(/^\S+ /, '')),
        notes,
      ),
    )

  test('curl: options about the transfer, and those with a counterpart elsewhere', () => {
    assert.deepEqual(leftOut(curlExamples('curl -s --max-time 5 --retry 2 https://example.com/a')), [
      'GET /a: --s: it is about the transfer or the output of curl',
      'GET /a: --max-time: use `limits` of the server',
      'GET /a: --retry: use `retry` of the server',
    ])
  })

  test('Postman: scripts, saved responses, headers that are switched off, unknown keys', () => {
    const found = postmanExamples(
      {
        info: { name: 'Shop', schema: 'v2.1', description: 'All of it' },
        event: [{ listen: 'test' }],
        item: [
          {
            name: 'Folder',
            item: [
              {
                name: 'One',
                event: [{ listen: 'prerequest', script: { exec: ['x'] } }],
                response: [{ status: 'OK' }],
                request: {
                  url: 'https://example.com/a',
                  header: [{ key: 'X-Off', value: '1', disabled: true }],
                  proxy: { host: 'p' },
                },
              },
            ],
          },
        ],
      } as unknown as Json,
      undefined,
    )
    assert.deepEqual(leftOut(found), [
      'One: the header X-Off: it is switched off',
      'Shop: info.description: a configuration has no counterpart',
      'Shop: event: scripts are not run',
      'Folder › One: event: scripts are not run',
      'Folder › One: response: saved responses are not imported',
      'Folder › One: request.proxy: a configuration has no counterpart',
    ])
  })

  test('HAR: unknown keys of a request, another form of body, an entry without a URL', () => {
    const entry = (request: object) => ({
      time: 1,
      request: { method: 'POST', url: 'https://example.com/a', ...request },
    })
    const json = { postData: { mimeType: 'application/json', text: '{"a":1}' } }
    const form = { postData: { mimeType: 'text/csv', text: 'a', extra: 1 } }
    const found = harExamples({
      log: { entries: [entry({ ...json, trailers: [] }), entry(form), { request: {} }] },
    } as unknown as Json)
    assert.deepEqual(leftOut(found), [
      'POST https://example.com/a: a body of another form: an operation has one form of bodies',
      'POST https://example.com/a: request.trailers: a configuration has no counterpart',
      'POST https://example.com/a: request.postData.extra: a configuration has no counterpart',
    ])
    assert.deepEqual('skipped' in found && found.skipped, [{ operation: 'entry 3', reason: 'it has no URL' }])
  })

  test('Unla: keys of sections that are imported', () => {
    const made = importUnlaSettings({
      file: 'x.yaml',
      text: 'port: 1\nodd: 1\nlogger: {level: info, color: true}\nstorage: {type: disk, disk: {path: x, mode: 7}}',
    })
    assert.deepEqual('notes' in made && made.notes.map(({ key }) => key), [
      'odd',
      'logger.color',
      'storage.disk.mode',
    ])
  })

  test('OpenAPI: webhooks, callbacks, unknown methods and keys, parameters without a name', () => {
    const get = {
      ...{ operationId: 'a', summary: 'Gets', callbacks: {}, parametres: [], 'x-own': 1 },
      parameters: [{ in: 'query' }, { $ref: '#/components/parameters/No', name: 'x' }],
    }
    const made = imported(
      document(
        {
          '/a': { get, GET: {}, put: null, additionalOperations: { COPY: {} } },
          '/b': { post: { operationId: 'b', summary: 'Posts', responses: {} } },
        },
        { webhooks: { created: {} }, components: { parameters: { No: { in: 'header' } } } },
      ),
    )
    assert.deepEqual(
      made.leftOut.map(({ operation, what }) => `${operation}: ${what}`),
      [
        'the description: `webhooks`',
        '/a: `GET`',
        '/a: `put`',
        '/a: `additionalOperations`',
        'GET /a: `callbacks`',
        'GET /a: `parametres`',
        'GET /a: a parameter without `name` or `in`',
      ],
    )
    const { reason } = made.leftOut.find(({ what }) => what === '`additionalOperations`')!
    assert.equal(reason, 'a tool cannot have their methods')
  })
})
