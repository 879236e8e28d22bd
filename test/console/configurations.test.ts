import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { readSettings } from '../../src/checks/index.ts'
import { watchStore } from '../../src/server/watch-store.ts'
import { versionOf } from '../../src/store/directory.ts'
import { openStore } from '../../src/store/index.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import type { Loose } from '../support/wire.ts'

const ADMIN = 'an-admin-token-of-30-characters'
const GREEN = 'the-token-of-the-tenant-green'
const HOSTILE = `<script>alert(1)</script><img src=x>\u001b[31m\u202eabc`

const shop = (description: string, prefix = '/shop') => `name: shop
routers: [{server: shop, prefix: ${prefix}}]
servers: [{name: shop, description: ${description}, baseUrl: "http://127.0.0.1:9"}]
tools: [{name: get_a, description: Gets, method: GET, endpoint: /a}]
`

/** Requests to the console of a gateway. */
async function consoleOf(
  t: TestContext,
  paths: Parameters<typeof gatewayOver>[1],
  settings: object,
  parts: Parameters<typeof gatewayOver>[3] = {},
) {
  const { gateway } = await gatewayOver(t, paths, settings, { skipInvalid: true, ...parts })
  const origin = `http://127.0.0.1:${await listening(t, createServer(getRequestListener(gateway.app.fetch)))}`
  const headers = (token?: string) => (token === undefined ? {} : { authorization: `Bearer ${token}` })
  return {
    gateway,
    async get(query: string, token?: string) {
      const accept = { accept: 'text/html' }
      const response = await fetch(`${origin}/_console/configurations${query}`, {
        headers: { ...accept, ...headers(token) },
      })
      return { status: response.status, text: await response.text(), headers: response.headers }
    },
    async post(path: string, body: object, token?: string, more: Record<string, string> = {}) {
      const response = await fetch(`${origin}/_console/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers(token), ...more },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: (await response.json()) as Loose }
    },
  }
}

/** A gateway over a folder with one file. */
async function folderOf(t: TestContext, settings: object, text = shop('Shop')) {
  const folder = temporaryFolder(t)
  const place = join(folder, 'shop.yaml')
  writeFileSync(place, text)
  return { place, folder, ...(await consoleOf(t, [folder], settings)) }
}

/** The text and version that the page gives to its editor. */
function givenIn(page: string): { place: string; version: string; text: string } {
  const [, json = ''] = /data-given="([^"]*)"/.exec(page) ?? []
  const plain = json.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>')
  return JSON.parse(plain.replaceAll('&#39;', "'").replaceAll('&amp;', '&'))
}

test('a file is edited only where the settings allow it', async (t) => {
  const { get, post, place } = await folderOf(t, {})
  const { text } = await get('?name=shop')
  assert.match(text, /Read-only\. .*console: \{edit: true\}/)
  assert.match(text, /Files have no versions here/)
  assert.doesNotMatch(text, /editor\.js/)
  for (const path of ['save', 'check'])
    assert.ok((await post(path, { place, text: shop('New'), version: '1' })).status >= 400, path)
  assert.equal(readFileSync(place, 'utf8'), shop('Shop'))
})

test('a file is checked, saved and served, unless it changed meanwhile or has errors', async (t) => {
  const { get, post, place, gateway } = await folderOf(t, { console: { edit: true } })
  const page = await get('?name=shop')
  assert.match(
    page.headers.get('content-security-policy')!,
    /style-src 'nonce-[\w+/=]{24}' 'self'; script-src 'self'/,
  )
  const { version } = givenIn(page.text)
  const broken = await post('check', { place, version, text: 'name: shop\nroutrs: []\n' })
  const found = broken.body.findings.find((one: Loose) => /routrs/.test(one.message))
  assert.deepEqual([found.severity, found.range.start.line, found.range.end.column], ['error', 2, 7])
  const refused = await post('save', { place, version, text: 'name: shop\nroutrs: []\n' })
  assert.equal(refused.status, 409)
  assert.match(refused.body.lines.join('\n'), /shop\.yaml:2:1: .*routrs/)
  assert.equal(readFileSync(place, 'utf8'), shop('Shop'))
  const saved = await post('save', { place, version, text: shop('New', '/other') })
  assert.deepEqual(
    [saved.status, saved.body.message],
    [200, `Saved as version ${saved.body.version}. Reloaded; changed: shop.`],
  )
  assert.equal(readFileSync(place, 'utf8'), shop('New', '/other'))
  assert.deepEqual([...gateway.table().routes.keys()], ['/other'])
  const late = await post('save', { place, version, text: shop('Late') })
  assert.equal(late.status, 409)
  assert.match(late.body.message, /was changed in the meantime: nothing was written/)
  assert.equal(readFileSync(place, 'utf8'), shop('New', '/other'))
})

test('a broken file that was never served is shown with its findings, and repaired', async (t) => {
  const { get, post, place, gateway } = await folderOf(t, { console: { edit: true } }, `name: "shop\n`)
  const list = await get('')
  assert.match(list.text, /Not served, as they have errors/)
  const page = await get(`?place=${encodeURIComponent(place)}`)
  assert.match(page.text, /It is not served/)
  assert.match(page.text, /class="found bad">error: /)
  const { version } = givenIn(page.text)
  assert.equal((await post('save', { place, version, text: shop('Shop') })).status, 200)
  assert.deepEqual([...gateway.table().routes.keys()], ['/shop'])
  // Only files of the gateway can be named.
  assert.equal((await get('?place=/etc/hosts')).status, 404)
})

test('a reload says what it changed and what it refused', async (t) => {
  const { post, place } = await folderOf(t, {})
  assert.match((await post('reload', {})).body.message, /nothing has changed/)
  writeFileSync(place, 'name: shop\nroutrs: []\n')
  const { body } = await post('reload', {})
  assert.match(body.message, /refused: shop/)
  assert.match(body.lines[0], /shop\.yaml:2:1: .*routrs/)
})

test('secrets are neither shown nor lost, and foreign text is text', async (t) => {
  const secret = 'sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c'
  const text = `${shop(JSON.stringify(HOSTILE))}# token: ${secret}\n# ${HOSTILE}\n`
  const { get, post, place } = await folderOf(t, { console: { edit: true } }, text)
  const page = await get('?name=shop')
  assert.ok(!page.text.includes(secret))
  assert.match(page.text, /It holds secrets, which are not shown/)
  assert.doesNotMatch(page.text, /<script>alert|<img|[\u001b\u202e]/)
  const version = versionOf(text)
  const refused = await post('save', { place, version, text: shop('New') })
  assert.deepEqual(
    [refused.status, refused.body.message],
    [409, 'It holds secrets, which are not shown: take them from the environment.'],
  )
  assert.equal(readFileSync(place, 'utf8'), text)
})

test('large texts are shown in part, and not checked', async (t) => {
  const long = `${shop('Shop')}${`# ${'x'.repeat(10_000)}\n`.repeat(150)}`
  const { get, post, place } = await folderOf(t, { console: { edit: true } }, long)
  const page = await get('?name=shop')
  assert.ok(page.text.length < 1_000_000)
  assert.match(page.text, /It is too large/)
  const huge = await post('check', { place, version: '1', text: '# '.repeat(3_000_000) })
  assert.equal(huge.status, 413)
  const large = await post('check', { place, version: '1', text: '# '.repeat(150_000) })
  assert.equal(large.status, 422)
  assert.match(large.body.message, /256 KiB is checked only when you save it/)
})

test('checks run one after the other, and few wait', async (t) => {
  const { post, place } = await folderOf(t, { console: { edit: true } })
  const text = `${shop('New')}${'# x\n'.repeat(10_000)}`
  const all = await Promise.all(
    Array.from({ length: 12 }, () => post('check', { place, version: '1', text })),
  )
  const refused = all.filter(({ status }) => status !== 200)
  assert.ok(refused.length > 0 && refused.length < 12, `${refused.length} were refused`)
  for (const { status, body } of refused) {
    assert.equal(status, 422)
    assert.match(body.message, /Too many texts wait/)
  }
  assert.equal((await post('check', { place, version: '1', text })).status, 200)
})

/** A gateway over a lowdb file, with tenants. */
async function storeOf(t: TestContext, more: object = {}) {
  const file = join(temporaryFolder(t), 'store.json')
  const given = {
    admin: { token: ADMIN },
    storage: { type: 'lowdb', file },
    audit: { to: 'file', path: join(temporaryFolder(t), 'audit.jsonl') },
    tenants: [{ name: 'green', prefix: '/green', tokens: [{ token: GREEN, caller: 'ops' }] }],
    ...more,
  }
  const { settings } = readSettings({ file: 'plantgw.yaml', text: JSON.stringify(given) }, {})
  const store = await openStore(settings!.storage!, {}, settings!.tenants)
  t.after(() => store.close())
  const green = shop('Green', '/green/shop').replace('\n', '\ntenant: green\n')
  const reason = { author: 'ann', message: 'first' }
  await store.apply([{ name: 'shop', tenant: 'default', text: shop('One') }], reason)
  await store.apply([{ name: 'shop', tenant: 'green', text: green }], reason)
  const { source } = watchStore(store, { poll: 0, log: silentLog })
  return { store, given, green, ...(await consoleOf(t, source, given, { store })) }
}

test('a stored configuration is saved, compared and taken back', async (t) => {
  const { get, post, store, given, gateway } = await storeOf(t)
  const { place, version } = givenIn((await get('?name=shop&tenant=default', ADMIN)).text)
  const saved = await post('save', { place, version, text: shop('Two', '/two') }, ADMIN)
  assert.equal(saved.body.message, 'Saved as version 2. Reloaded; changed: shop.')
  const late = await post('save', { place, version, text: shop('Late') }, ADMIN)
  assert.match(late.body.message, /based on version 1, the store holds version 2/)
  const renamed = await post(
    'save',
    { place, version: '2', text: shop('X').replace('name: shop', 'name: x') },
    ADMIN,
  )
  assert.match(renamed.body.message, /Name and tenant of a stored configuration cannot be changed/)
  const page = (await get('?name=shop&tenant=default', ADMIN)).text
  assert.match(page, /administrator \(console\)/)
  const diff = (await get(`?place=${encodeURIComponent(place)}&from=1&to=2`, ADMIN)).text
  assert.match(diff, /<del>-servers.*One.*<ins>\+.*Two/s)
  const unknown = await get(`?place=${encodeURIComponent(place)}&from=1&to=7`, ADMIN)
  assert.equal(unknown.status, 404)
  assert.match(unknown.text, /has no version 7/)
  const back = await post('rollback', { place, version: '1' }, ADMIN)
  assert.equal(back.body.version, '3')
  assert.deepEqual((await store.get({ name: 'shop', tenant: 'default' }))?.text, shop('One'))
  assert.ok(gateway.table().routes.has('/shop'))
  await gateway.close()
  const audited = readFileSync(given.audit.path, 'utf8').trim().split('\n')
  const edits = audited.map((line) => JSON.parse(line)).filter(({ event }) => event === 'edit')
  const common = { event: 'edit', place, caller: 'administrator', tenant: 'default', address: '127.0.0.1' }
  assert.deepEqual(
    edits.map(({ time, ...edit }) => edit),
    [
      { ...common, what: 'save', version: '2' },
      { ...common, what: 'rollback', version: '3' },
    ],
  )
})

test('a tenant sees and changes only its own', async (t) => {
  const { get, post, store, green } = await storeOf(t)
  const list = (await get('', GREEN)).text
  assert.match(list, /tenant=green/)
  assert.doesNotMatch(list, /tenant=default|data-path="reload"/)
  assert.equal((await get('?name=shop&tenant=default', GREEN)).status, 404)
  const label = store.label
  assert.equal((await get(`?place=${encodeURIComponent(`${label}/shop`)}`, GREEN)).status, 404)
  const foreign = await post('save', { place: `${label}/shop`, version: '1', text: shop('Mine') }, GREEN)
  assert.equal(foreign.status, 404)
  assert.equal((await post('reload', {}, GREEN)).status, 403)
  const { place, version } = givenIn((await get('?name=shop', GREEN)).text)
  assert.equal(place, `${label}/green/shop`)
  // A text of another tenant would be read with other variables.
  for (const path of ['check', 'save']) {
    const taken = await post(path, { place, version, text: shop('Mine') }, GREEN)
    assert.match(taken.body.message, /must say `tenant: green`/)
  }
  // The prefix of another tenant, and one that no tenant has, look alike.
  for (const prefix of ['/shop', '/none']) {
    const text = green.replace('/green/shop', prefix)
    const checked = await post('check', { place, version, text }, GREEN)
    assert.deepEqual(
      checked.body.findings.map(({ message }: Loose) => message),
      [`the prefix \`${prefix}\` is not below \`/green\`, the prefix of the tenant \`green\``],
    )
    assert.equal((await post('save', { place, version, text }, GREEN)).status, 409)
  }
  const text = green.replace('Green', 'Greener')
  const saved = await post('save', { place, version, text }, GREEN)
  assert.equal(saved.body.message, 'Saved as version 2. Reloaded; changed: green/shop.')
  const [newest] = await store.history({ name: 'shop', tenant: 'green' })
  assert.equal(newest?.author, 'ops (console)')
})

test('another site cannot change anything, and settings can forbid it', async (t) => {
  const { get, post } = await storeOf(t)
  const { place, version } = givenIn((await get('?name=shop&tenant=default', ADMIN)).text)
  const body = { place, version, text: shop('Evil') }
  for (const path of ['save', 'rollback', 'reload', 'check']) {
    assert.equal((await post(path, body, ADMIN, { origin: 'https://evil.example' })).status, 403, path)
    assert.equal((await post(path, body, ADMIN, { 'content-type': 'text/plain' })).status, 415, path)
  }
  const off = await storeOf(t, { console: { edit: false } })
  const refused = await off.post(
    'save',
    { place: `${off.store.label}/shop`, version: '1', text: shop('X') },
    ADMIN,
  )
  assert.equal(refused.status, 409)
})
