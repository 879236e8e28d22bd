// Each example is checked as the gateway would do it, some of them against servers: about 20 s.
import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { check, rulesOf } from '../../src/build/check-configurations.ts'
import { fromStore } from '../../src/build/source.ts'
import { readSettings } from '../../src/checks/index.ts'
import { DEFAULT_LIMITS, type ReadConfiguration, type Settings } from '../../src/config/index.ts'
import { checkEndpoints, endpointFindings } from '../../src/endpoints/index.ts'
import { connectionFindings, machineFindings } from '../../src/endpoints/needs.ts'
import {
  applyIgnores,
  CODES,
  type CodeInfo,
  checkOf,
  type Finding,
  type FindingCode,
} from '../../src/findings/index.ts'
import { openStore } from '../../src/store/index.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { startEverything } from '../fixtures/everything/start.ts'
import { selfSigned, skipWithoutOpenssl } from '../support/certificates.ts'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import { noRedis, redisServer } from '../support/redis.ts'
import { postgresUrl } from '../support/services.ts'

/** Lines that stand for more than a page could show. */
const ELIDED: Record<string, () => string> = {
  '  # … 60,000 tools': () => '  # a tool\n'.repeat(400_000),
  '  # … 20 tools': () => '  - {name: find, endpoint: http://localhost/}',
  '  # … 1,100 tools without an endpoint': () => '  - {}\n'.repeat(1_100),
  '  # … 400 tools with long descriptions': () =>
    Array.from(
      { length: 400 },
      (_, i) => `  - {name: t${i}, description: "${`Finds ${i} `.repeat(40)}", endpoint: http://localhost/}`,
    ).join('\n'),
}

interface Example {
  files: Map<string, string>
  commands: string[][]
}

/** The files of an example, each after a line `# path`, else one; and its commands. */
function read(text: string): Example {
  const made: Example = { files: new Map(), commands: [] }
  let path = 'user.yaml'
  for (const line of text.split('\n')) {
    const [, own] = /^# ([\w./-]+\.\w+)(?:,.*)?$/.exec(line) ?? []
    if (own) path = own
    else if (line.startsWith('$ ')) made.commands.push(line.slice(2).split(' '))
    else made.files.set(path, `${made.files.get(path) ?? ''}${ELIDED[line]?.() ?? line}\n`)
    if (own) made.files.set(path, '')
  }
  const whole = made.files.get('user.yaml')
  if (whole !== undefined) made.files.set('user.yaml', wrapped(whole.trimEnd()))
  for (const [name, content] of made.files)
    made.files.set(name, content.replace('… # and 1,100 more characters', 'name '.repeat(220)))
  return made
}

const HEAD = /^(?:name|openapi|%NOISE)\b|^#.*\nname:/
const TOP = /^(?:routers|servers|mcpServers|tools|prompts|notifier|tenant|skills|tests?):/

/** Part of a configuration inside the least one that it needs. */
function wrapped(text: string): string {
  const indent = (spaces: number) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`)
  if (HEAD.test(text)) return `${text}\n`
  const has = (key: string) => new RegExp(`^${key}:`, 'm').test(text)
  const own =
    has('servers') || has('mcpServers') ? '' : 'servers: [{name: user, config: {base: "http://localhost"}}]\n'
  const routers =
    has('routers') || (has('mcpServers') && !/name: user/.test(text))
      ? ''
      : 'routers: [{server: user, prefix: /user}]\n'
  if (/^(?:cors|auth):/.test(text))
    return `name: user\n${own}routers:\n  - server: user\n    prefix: /user\n    ${indent(4)}\n`
  if (TOP.test(text)) return `name: user\n${own}${routers}${text}\n`
  const args = `    args:
      - {name: id, position: path, required: true}
      - {name: name, position: body, required: true}
      - {name: n, position: body, type: integer, required: true}
      - {name: user, position: body, type: object, required: true}
`
  return `name: user
${own}${routers}tools:
  - name: t
    description: A tool
    method: POST
${text.includes('endpoint:') ? '' : '    endpoint: http://localhost/{{.Args.id}}\n'}${/args:|inputSchema:/.test(text) ? '' : args}    ${indent(4)}
`
}

const ENV = {
  TOKEN: 'a'.repeat(20),
  CI_TOKEN: 'b'.repeat(20),
  SUPPORT_TOKEN: 'c'.repeat(20),
  API_TOKEN: 'd',
  SHOP_TOKEN: 'e',
  AGENT_TOKEN: 'f'.repeat(20),
  PLANTGW_VAULT_KEY: 'v'.repeat(32),
  OWNER: 'green',
  PATH: process.env.PATH,
}

/** What is found in an example. @param served what stands for its hosts */
async function found(t: TestContext, text: string, code: FindingCode, served: Record<string, string> = {}) {
  const folder = temporaryFolder(t)
  const { files, commands } = read(text)
  for (const [path, given] of files) {
    const content = replaced(given, served)
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  mkdirSync(join(folder, 'configs'), { recursive: true })
  const named: string[] = []
  for (const [program, ...words] of commands)
    if (program === 'ln') symlinkSync(words[1]!, join(folder, words[2]!))
    else if (words[0] === 'validate') named.push(...words.slice(1))
  const place = join(folder, 'plantgw.yaml')
  const source = files.has('plantgw.yaml') ? { file: place, text: files.get('plantgw.yaml')! } : undefined
  const settings = source && readSettings({ ...source, text: replaced(source.text, served) }, ENV)
  const paths = named.length > 0 ? named : [files.has('user.yaml') ? 'user.yaml' : 'configs']
  const checked = await check(
    [
      ...paths.map((path) => join(folder, path)),
      ...[...files.keys()].filter((path) => path === 'billing.yaml').map((path) => join(folder, path)),
    ],
    { env: ENV, practice: { production: true }, ...(settings?.settings && { settings: settings.settings }) },
  )
  const placed = settings?.settings && { settings: settings.settings, file: place, locate: settings.locate }
  const all: Finding[] = [
    ...(settings?.findings ?? []),
    ...checked.findings,
    ...machineFindings(placed, checked.configurations),
  ]
  if (checkOf(code) === 'connections') all.push(...(await connectionFindings(placed, checked.configurations)))
  if (checkOf(code) === 'endpoints') all.push(...(await reached(checked.configurations)))
  if (code === 'unreadable-store') all.push(...(await stored(settings!.settings!)))
  const sources = new Map([
    ...checked.sources,
    ...checked.configurations.map(({ file, text }) => [file, text] as const),
  ])
  return applyIgnores(all, sources, { ran: () => true })
}

function replaced(text: string, served: Record<string, string>): string {
  return Object.entries(served).reduce((all, [host, own]) => all.replaceAll(host, own), text)
}

async function reached(configurations: readonly ReadConfiguration[]): Promise<Finding[]> {
  const signal = new AbortController().signal
  const context = {
    env: ENV,
    limits: DEFAULT_LIMITS,
    log: silentLog,
    version: '',
    signal,
    retries: 0,
    start: true,
  }
  return endpointFindings(await checkEndpoints(configurations, context))
}

async function stored(settings: Settings): Promise<Finding[]> {
  const store = await openStore(settings.storage!, ENV)
  try {
    return (await fromStore(store)(ENV, rulesOf(settings))).findings
  } finally {
    await store.close()
  }
}

const api: RequestListener = ({ url, headers }, response) => {
  const isAllowed = url === '/private' ? headers.authorization === 'Bearer d' : url === '/users'
  response.writeHead(isAllowed ? 200 : url === '/private' ? 401 : 404).end('[]')
}

/** What stands for the hosts of an example; undefined: it cannot be had here. */
async function hosts(t: TestContext, code: FindingCode): Promise<Record<string, string> | undefined> {
  if (code === 'broker-unreachable') {
    if (noRedis) return undefined
    const { port } = await redisServer(t)
    return { 'redis.example.com:6379': `127.0.0.1:${port}` }
  }
  if (code === 'database-unreachable') {
    const url = postgresUrl()
    return url === undefined ? undefined : { 'postgres://plantgw@db.example.com/plantgw': url }
  }
  if (checkOf(code) !== 'endpoints') return {}
  if (code === 'endpoint-tls' || code === 'certificate-expires') {
    if (skipWithoutOpenssl) return undefined
    const own = selfSigned(temporaryFolder(t), 'own', 5)
    const port = await listening(t, createTlsServer(own, api))
    const host = code === 'endpoint-tls' ? 'self-signed' : 'expires-tomorrow'
    return {
      [`https://${host}.example.com`]: `https://localhost:${port}`,
      ...(await servedApi(t)),
      ...(code === 'certificate-expires' && {
        'config: {base: "http://localhost"}': `tls: {ca: ${own.file}}`,
      }),
    }
  }
  if (code === 'mcp-handshake')
    return {
      'https://mcp.example.com/mcp': await startEverything(t, 'http', 'session'),
      'https://mcp.example.com': (await servedApi(t))[API]!,
    }
  return servedApi(t)
}

const API = 'https://api.example.com'

async function servedApi(t: TestContext): Promise<Record<string, string>> {
  return { 'https://api.example.com': `http://127.0.0.1:${await listening(t, createServer(api))}` }
}

// `e2e/packages.rest.test.ts` runs that of `missing-package`, where packages are missing.
const { 'missing-package': _, ...codes } = CODES

for (const [code, { wrong, right }] of Object.entries(codes) as [FindingCode, CodeInfo][])
  test(`the examples of ${code}`, async (t) => {
    assert.ok(wrong !== undefined && right !== undefined, 'it needs a wrong and a right example')
    const served = await hosts(t, code)
    if (!served) return t.skip('needs a server')
    const [bad, good] = [await found(t, wrong, code, served), await found(t, right, code, served)]
    const shown = (all: Finding[]) => all.map((one) => `${one.code}: ${one.message}`).join('\n')
    assert.ok(
      bad.some((one) => one.code === code),
      `wrong:\n${shown(bad)}`,
    )
    assert.ok(!good.some((one) => one.code === code), `right:\n${shown(good)}`)
    return undefined
  })
