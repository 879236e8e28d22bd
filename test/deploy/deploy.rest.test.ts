import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { readSettings } from '../../src/checks/index.ts'
import { formatText } from '../../src/findings/index.ts'
import { statelessWorker } from '../soak/clients.ts'
import { noNginx, shippedNginx } from '../support/nginx.ts'
import { freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'

const at = (path: string) => join(ROOT, 'deploy', path)
const text = (path: string) => readFileSync(at(path), 'utf8')
const secret = 'a-secret-of-32-characters-or-more'
const env = {
  DB_PASSWORD: 'secret',
  DB_URL: 'postgres://plantgw:secret@postgres/plantgw',
  REDIS_PASSWORD: 'secret',
  PLANTGW_ADMIN_TOKEN: secret,
  PLANTGW_CLUSTER_SECRET: secret,
  PLANTGW_ADVERTISE: 'http://gateway-1:5235',
}

for (const file of ['systemd/plantgw.yaml', 'compose/plantgw.yaml', 'kubernetes/plantgw.yaml'])
  test(`deploy/${file} is sound`, () => {
    const source = { file, text: text(file) }
    const { findings } = readSettings(source, env)
    assert.equal(formatText(findings, new Map([[file, source.text]]), { color: false }), 'no findings\n')
  })

test('the configurations of the compose file are sound', async (t) => {
  const { code, stdout } = await run(
    t,
    ['validate', at('compose/configs'), '--settings', at('compose/plantgw.yaml')],
    { env: { ...env, HELLO_TOKEN: secret } },
  )
  assert.equal(code, 0, stdout)
})

test('the compose file gives its gateways what their settings ask for, and .env names it', () => {
  const compose = text('compose/compose.yaml')
  const { services } = parse(compose, { merge: true }) as {
    services: Record<string, { environment: Record<string, string>; volumes: string[] }>
  }
  const asked = [...text('compose/plantgw.yaml').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!)
  for (const name of ['gateway-1', 'gateway-2', 'config'])
    for (const variable of asked)
      assert.ok(services[name]!.environment[variable], `${name} has no ${variable}`)
  const wanted = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name!))
  const example = text('compose/env.example')
  for (const variable of wanted) assert.match(example, new RegExp(`^${variable}=`, 'm'))
  for (const { volumes = [] } of Object.values(services))
    for (const volume of volumes)
      if (volume.startsWith('./')) assert.ok(existsSync(at(join('compose', volume.split(':')[0]!))), volume)
})

interface Service {
  image?: string
  volumes?: string[]
  profiles?: string[]
  secrets?: string[]
  environment?: Record<string, string>
}

test('the compose file has Prometheus, Tempo and Grafana, which name each other', () => {
  const { services, secrets } = parse(text('compose/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
    secrets: Record<string, { environment: string }>
  }
  for (const name of ['prometheus', 'tempo', 'grafana']) {
    const { image, profiles, volumes = [] } = services[name]!
    assert.deepEqual(profiles, ['observability'])
    assert.match(image!, /:v?\d+\.\d+\.\d+$/)
    for (const [path] of volumes.map((volume) => volume.split(':')))
      if (path!.startsWith('.')) assert.ok(existsSync(at(join('compose', path!))), path)
  }
  const [scraped] = parse(text('compose/prometheus.yml')).scrape_configs
  for (const target of scraped.static_configs[0].targets) assert.ok(services[target.split(':')[0]], target)
  const [secret] = services.prometheus!.secrets as [string]
  assert.equal(scraped.authorization.credentials_file, `/run/secrets/${secret}`)
  assert.equal(secrets[secret]!.environment, 'PLANTGW_ADMIN_TOKEN')

  const { otlp } = parse(text('compose/plantgw.yaml')).telemetry
  const tempo = parse(text('compose/tempo.yaml'))
  const { endpoint } = tempo.distributor.receivers.otlp.protocols.http
  assert.equal(otlp.endpoint, `http://tempo:${endpoint.split(':')[1]}`)
  assert.deepEqual(otlp.signals, ['traces'])
  assert.equal(services['gateway-1']!.environment!.OTEL_SDK_DISABLED, '${OTEL_SDK_DISABLED:-true}')

  const { datasources } = parse(text('grafana/provisioning/datasources/plantgw.yaml'))
  const [prometheus, traces] = datasources as { type: string; url: string }[]
  assert.deepEqual([prometheus!.type, prometheus!.url], ['prometheus', 'http://prometheus:9090'])
  assert.deepEqual([traces!.type, traces!.url], ['tempo', `http://tempo:${tempo.server.http_listen_port}`])
  const [{ options }] = parse(text('grafana/provisioning/dashboards/plantgw.yaml')).providers
  assert.ok(services.grafana!.volumes!.includes(`../grafana/dashboards:${options.path}:ro`))
})

test('each metric of the dashboard is there for Prometheus, as the compose file has it read, and each of the gateway is shown', async (t) => {
  const gateway = await served(t, [], { settings: { admin: { token: secret }, host: '0.0.0.0' } })
  const [{ authorization, metrics_path: path, static_configs }] = parse(
    text('compose/prometheus.yml'),
  ).scrape_configs
  const host = static_configs[0].targets[0]
  const read = (headers: Record<string, string>) => gateway.send({ path, method: 'GET', headers })
  assert.equal((await read({ host })).status, 401)
  const { status, text: metrics } = await read({ host, authorization: `${authorization.type} ${secret}` })
  assert.equal(status, 200)
  const there = new Map(
    [...metrics.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => [name!, type!]),
  )
  const { panels } = JSON.parse(text('grafana/dashboards/plantgw.json')) as {
    panels: { targets?: { expr: string }[] }[]
  }
  const shown = new Set(
    panels.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => expr.match(/\b(?:mcp|plantgw|process|nodejs)_\w+(?=[{[ ]|$)/g) ?? []),
    ),
  )
  assert.ok(shown.size > 30)
  const named = [...shown].map((name) => {
    const whole = name.replace(/_(bucket|count)$/, '')
    return there.get(whole) === 'histogram' ? whole : name
  })
  for (const name of named) assert.ok(there.has(name), name)
  for (const name of there.keys())
    if (/^(mcp|plantgw)_/.test(name)) assert.ok(named.includes(name), `${name} has no panel`)
})

test('the Kubernetes manifests name each other', () => {
  const kustomization = parse(text('kubernetes/kustomization.yaml')) as { resources: string[] }
  const there = readdirSync(at('kubernetes')).filter((name) => !/^(kustomization|plantgw)\.yaml$/.test(name))
  assert.deepEqual([...kustomization.resources].sort(), there.sort())
  for (const file of kustomization.resources)
    for (const document of parseAllDocuments(text(`kubernetes/${file}`))) {
      assert.deepEqual(document.errors, [])
      assert.equal((document.toJS() as { metadata: { name: string } }).metadata.name, 'plantgw')
    }
})

test('load balancers ask whether a gateway is ready, supervisors whether it is well', () => {
  const { spec } = parse(text('kubernetes/deployment.yaml')).spec.template
  const [{ readinessProbe, livenessProbe, startupProbe }] = spec.containers
  const paths = [readinessProbe, livenessProbe, startupProbe].map(({ httpGet }) => httpGet.path)
  assert.deepEqual(paths, ['/_ready', '/_health', '/_health'])
  const { services } = parse(text('compose/compose.yaml'), { merge: true })
  for (const name of ['gateway-1', 'gateway-2']) {
    assert.match(services[name].healthcheck.test.join(' '), /\/_ready/)
    assert.equal(services[name].init, true)
  }
  assert.match(text('Dockerfile'), /^ENTRYPOINT \["tini", "-s", "--", "plantgw"\]$/m)
})

test('what the Dockerfile copies is enough to run', async (t) => {
  const folder = temporaryFolder(t)
  const copied = [...text('Dockerfile').matchAll(/^COPY --from=build \/build\/(\S+)/gm)].map(
    ([, path]) => path!,
  )
  for (const path of copied)
    if (path === 'node_modules') symlinkSync(join(ROOT, path), join(folder, path))
    else cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  const started = spawnSync(
    process.execPath,
    [join(folder, 'bin/plantgw.js'), 'validate', at('compose/configs')],
    { encoding: 'utf8', env: { ...process.env, HELLO_TOKEN: secret } },
  )
  assert.equal(started.stdout, '1 file, nothing wrong\n', started.stderr)
})

test('nginx of the compose file keeps the own pages inside, and either replica serves a session', {
  skip: noNginx,
}, async (t) => {
  const ports = [await freePort(), await freePort()]
  const folder = temporaryFolder(t)
  const hello = readFileSync(at('compose/configs/hello.yaml'), 'utf8')
  const gateways = await Promise.all(
    ports.map(async (port) => {
      const configs = join(folder, `${port}.yaml`)
      // Each calls itself, and so says which one answered.
      writeFileSync(
        configs,
        hello
          .replace('http://127.0.0.1:5235/_health', `http://127.0.0.1:${port}/_health?${port}`)
          .replace('annotations:', `responseBody: "${port}"\n    annotations:`),
      )
      const settings = join(folder, `${port}.plantgw.yml`)
      const cluster = { secret, advertise: `http://127.0.0.1:${port}` }
      writeFileSync(settings, JSON.stringify({ port, cluster }))
      const gateway = plantgw(t, ['serve', configs, '-s', settings, '--log-format', 'json'], {
        env: { HELLO_TOKEN: secret },
      })
      await gateway.until(/plantgw serves/)
      return gateway
    }),
  )
  const base = await shippedNginx(t, ports)
  for (const path of ['/_reload', '/_diff', '/_status', '/metrics'])
    for (const method of ['GET', 'POST'])
      assert.equal((await fetch(base + path, { method })).status, 404, path)

  const headers = {
    authorization: `Bearer ${secret}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const post = (body: object, more = {}) =>
    fetch(`${base}/hello/mcp`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const opened = await post({ id: 1, method: 'initialize', params })
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
  await opened.text()
  await (await post({ method: 'notifications/initialized' }, session)).text()
  const answered = new Set<string>()
  for (let id = 2; answered.size < 2; id++) {
    const call = await post({ id, method: 'tools/call', params: { name: 'health', arguments: {} } }, session)
    assert.equal(call.status, 200)
    answered.add(((await call.json()) as { result: { content: { text: string }[] } }).result.content[0]!.text)
    assert.ok(id < 50, 'one replica answers everything')
  }
  assert.deepEqual([...answered].sort(), ports.map(String).sort())

  // A stream comes through as it is written.
  const stream = await fetch(`${base}/hello/mcp`, {
    headers: { ...headers, accept: 'text/event-stream', ...session },
  })
  assert.equal(stream.status, 200)
  await stream.body!.cancel()

  // One replica ends; nobody notices.
  gateways[0]!.child.kill('SIGTERM')
  await gateways[0]!.ended
  for (let id = 100; id < 110; id++)
    assert.equal((await post({ id, method: 'tools/list', params: {} }, session)).status, 200)
  const worker = await statelessWorker(`${base}/hello/mcp`, { authorization: headers.authorization }).catch(
    (error: Error) => error,
  )
  assert.ok(!(worker instanceof Error), String(worker))
  await worker.close()
})

test('what runs outside of Kubernetes is told of every variable that the settings want', () => {
  const wanted = [...text('kubernetes/plantgw.yaml').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!)
  const told = text('README.md').split('`plantgw config apply --settings kubernetes/plantgw.yaml').at(-1)!
  assert.deepEqual(
    wanted.filter((name) => !told.includes(`\`${name}\``)),
    [],
  )
})
