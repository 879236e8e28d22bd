import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'
import { readSettings } from '../../src/checks/index.ts'
import { createGateway } from '../../src/server/gateway.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { patient } from '../support/patient.ts'
import { temporaryFolder } from '../support/process.ts'
import { body, open, post, rpc } from '../support/wire.ts'

/** Enough for threads to examine them. */
const MANY = 3_050
/** Too few. */
const FEW = 100

const PARTS: Record<string, string> = {
  sound: '',
  grouped:
    '    group: plants\n    annotations: {idempotentHint: true}\n    retry: {attempts: 2}\n    limits: {maxRequestSize: 9MiB}\n',
  variable: '    headers: {Authorization: "Bearer ${TOKEN}"}\n',
  unset: '    headers: {X-Trace: "${NOBODY_SETS_THIS}"}\n',
  misspelt: '    heders: {X-Trace: "1"}\n',
  secret: '    headers: {X-Api-Key: "k3yABCDEF0123456789abcd"}\n',
  described: '    args: [{name: q, position: query}]\n',
  template: '    requestBody: "{{.Args.nothing}}"\n',
  exact: '    inputSchema: {type: object, properties: {n: {type: integer, maximum: 12345678901234567890}}}\n',
}
const KINDS = Object.keys(PARTS)

function configuration(i: number, kind: string, url: string): string {
  return `name: service-${i}
routers: [{server: service-${i}, prefix: /service-${i}}]
servers: [{name: service-${i}, config: {base: "${url}"}}]
tools:
  - name: get_entry
    description: Gets an entry of service ${i}
    method: POST
    endpoint: "{{.Config.base}}/${i}"
${PARTS[kind]}`
}

/** Folders with the same files, in one and in several. */
function folders(root: string, kindOf: (i: number) => string, url = 'http://127.0.0.1:9') {
  const whole = join(root, 'whole')
  mkdirSync(whole)
  const parts: string[] = []
  for (let i = 0; i < MANY; i++) {
    if (i % FEW === 0) {
      parts.push(join(root, `part-${parts.length}`))
      mkdirSync(parts.at(-1)!)
    }
    const text = configuration(i, kindOf(i), url)
    for (const folder of [whole, parts.at(-1)!]) writeFileSync(join(folder, `service-${i}.yaml`), text)
  }
  return { whole, parts }
}

for (const [name, kindOf] of [
  ['few of them', (i: number) => (i % 9 === 0 ? KINDS[(i / 9) % KINDS.length]! : 'sound')],
  ['most of them', (i: number) => KINDS[i % KINDS.length]!],
] as const)
  test(`what is wrong with ${name} is found of many files as of few`, async (t) => {
    const { whole, parts } = folders(temporaryFolder(t), kindOf)
    const options = { env: { TOKEN: 's3cret' }, practice: {} }
    const told = async (folder: string) =>
      (await check([folder], options)).findings.map((found) => ({
        ...found,
        file: found.file.slice(folder.length),
      }))
    const expected = (await Promise.all(parts.map(told))).flat()
    const byFile = (one: { file: string }, other: { file: string }) =>
      one.file < other.file ? -1 : one.file > other.file ? 1 : 0
    const found = await told(whole)
    assert.deepEqual(found.toSorted(byFile), expected.toSorted(byFile))
    const codes = new Set(found.map(({ code }) => code))
    for (const code of ['env-unset', 'literal-secret', 'missing-description'] as const)
      assert.ok(codes.has(code), [...codes].join())
  })

test('many files are listed, called and reloaded as few are', async (t) => {
  const requests: string[] = []
  const api = createServer((request, response) => {
    requests.push(`${request.url} ${request.headers.authorization}`)
    response.end('{}')
  })
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
  t.after(() => api.close())
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const kinds = ['sound', 'grouped', 'variable', 'exact']
  const { whole, parts } = folders(temporaryFolder(t), (i) => kinds[i % kinds.length]!, url)
  const log = await createLog({ level: 'silent' })
  const serve = async (folder: string) => {
    const { settings } = readSettings(undefined, {})
    const given = {
      paths: [folder],
      settings: patient(settings!),
      env: { TOKEN: 's3cret' },
      log,
      version: '1',
    }
    const { gateway, findings } = await createGateway(given)
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'error'),
      [],
    )
    t.after(() => gateway?.close())
    return gateway!
  }
  const [many, few] = [await serve(whole), await serve(parts[0]!)]
  const ask = async ({ app }: typeof many, i: number, method: string, params = {}) =>
    body(post(app, `/service-${i}/mcp`, rpc(method, params), await open(app, `/service-${i}`)))
  const listed = (i: number) =>
    many.table().prepared.get(`service-${i}`)?.servers.get(`service-${i}`)?.http?.tools.listed
  // Lists of what was examined are made for those who ask: thousands that nobody asks for would be kept.
  for (const i of [0, 1, 2]) assert.equal(listed(i), undefined)
  for (const i of kinds.keys()) {
    assert.deepEqual(await ask(many, i, 'tools/list'), await ask(few, i, 'tools/list'))
    const [one, other] = [many, few].map(({ table }) => table().routes.get(`/service-${i}`))
    assert.equal(one?.maxRequestSize, other?.maxRequestSize)
    assert.equal(one?.discovery?.key, other?.discovery?.key)
    const call = { name: 'get_entry', arguments: {} }
    assert.deepEqual(await ask(many, i, 'tools/call', call), await ask(few, i, 'tools/call', call))
  }
  assert.deepEqual(
    requests,
    [0, 1, 2, 3].flatMap((i) => Array(2).fill(`/${i} ${i === 2 ? 'Bearer s3cret' : 'undefined'}`)),
  )
  appendFileSync(join(whole, 'service-5.yaml'), '# changed\n')
  assert.deepEqual((await many.reload()).changed, ['service-5'])
})
