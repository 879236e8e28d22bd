import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { readSettings } from '../../src/checks/index.ts'
import { importUnlaSettings } from '../../src/import/unla-settings.ts'

function imported(text: string) {
  const made = importUnlaSettings({ file: 'mcp-gateway.yaml', text })
  assert.ok(made.fault === undefined && !made.findings, JSON.stringify(made))
  const env = Object.fromEntries(made.variables.map(({ name }) => [name, 'set']))
  assert.deepEqual(readSettings({ file: 'plantgw.yaml', text: made.text }, env).findings, [], made.text)
  return { ...made, settings: parse(made.text), keys: made.notes.map(({ key }) => key) }
}

test('what is the same keeps its variables; choices take the names that they have here', () => {
  const { settings, keys, variables } = imported(`
port: \${MCP_GATEWAY_PORT:5235}
pid: "\${MCP_GATEWAY_PID:/var/run/mcp-gateway.pid}"
reload_interval: \${MCP_GATEWAY_RELOAD_INTERVAL:600s}
reload_switch: true
logger: {level: "\${LOGGER_LEVEL:fatal}", format: "\${LOGGER_FORMAT:console}", output: file, max_size: 100}
storage: {type: "\${GATEWAY_STORAGE_TYPE:db}", database: {type: "\${GATEWAY_DB_TYPE:sqlite}", dbname: ./unla.db}}
notifier: {role: receiver, type: composite, signal: {signal: SIGHUP, pid: /var/run/mcp-gateway.pid}, redis: {addr: a}}
session: {type: redis, redis: {addr: "localhost:6379"}}
auth: {oauth2: {issuer: https://example.com}, cors: {allowOrigins: ["*"]}}
tracing: {enabled: "\${TRACING_ENABLED:false}", endpoint: "localhost:4317"}
`)
  assert.deepEqual(settings, {
    port: '${MCP_GATEWAY_PORT:5235}',
    pid: '${MCP_GATEWAY_PID:/var/run/mcp-gateway.pid}',
    reload_interval: '${MCP_GATEWAY_RELOAD_INTERVAL:600s}',
    reload_switch: true,
    logger: { level: 'error', format: 'pretty' },
    storage: { type: 'directory', path: 'configs' },
    notifier: { type: 'signal', signal: { signal: 'SIGHUP', pid: '/var/run/mcp-gateway.pid' } },
  })
  assert.deepEqual(
    keys,
    'storage notifier notifier.role logger.output session auth logger.max_size'.split(' '),
  )
  assert.deepEqual(variables, [])
})

test('passwords are never written, nor their defaults', () => {
  const { settings, text, variables } = imported(`
storage:
  type: db
  database: {type: postgres, host: "\${GATEWAY_DB_HOST:db}", port: 5432, user: me, password: "\${GATEWAY_DB_PASSWORD:example}", dbname: unla}
notifier:
  type: redis
  redis: {cluster_type: sentinel, master_name: main, addr: "a:1,b:2", username: me, password: hunter2, db: 0, topic: reload}
tracing: {enabled: true, endpoint: "collector:4317", protocol: grpc, insecure: true, service_name: gw}
`)
  assert.equal(settings.storage.url, 'postgres://me:${GATEWAY_DB_PASSWORD}@${GATEWAY_DB_HOST:db}:5432/unla')
  assert.deepEqual(settings.notifier.redis, {
    addr: 'a:1,b:2',
    username: 'me',
    topic: 'reload',
    cluster_type: 'sentinel',
    master_name: 'main',
    password: '${NOTIFIER_REDIS_PASSWORD}',
  })
  assert.deepEqual(settings.telemetry, { otlp: { endpoint: 'http://collector:4318' } })
  assert.deepEqual(
    variables.map(({ name }) => name),
    ['GATEWAY_DB_PASSWORD', 'NOTIFIER_REDIS_PASSWORD'],
  )
  assert.ok(!/example|hunter2/.test(text))
})

test('other files are told as what they are', () => {
  const faults: [text: string, fault: RegExp][] = [
    ['name: a\nrouters: []\nservers: []', /^it is a configuration/],
    [
      'openapi: 3.1.0\ninfo: {}',
      /^it is an OpenAPI description\. Convert it: `plantgw import openapi mcp-gateway\.yaml`$/,
    ],
    ['a: 1', /none of their keys/],
    ['[]', /not an object/],
  ]
  for (const [text, fault] of faults)
    assert.match(importUnlaSettings({ file: 'mcp-gateway.yaml', text }).fault ?? '', fault)
})
