import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run, temporaryFolder } from '../support/process.ts'
import { document } from './imported.ts'

const query = (name: string, description: string) => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string' },
})
const get = (operationId: string, summary: string, parameters: object[] = []) => ({
  get: { operationId, summary, parameters },
})
const old = document({
  '/orders': get('listOrders', 'Lists orders', [query('state', 'The state'), query('sort', 'The order')]),
  '/users': get('listUsers', 'Lists users', [query('name', 'The name')]),
  '/bills': get('listBills', 'Lists bills'),
  '/gone': get('gone', 'Goes away'),
  '/kept': get('kept', 'Is edited'),
})
const next = document({
  '/orders': get('listOrders', 'Lists all orders', [
    query('state', 'The state of an order'),
    query('page', 'The page'),
  ]),
  '/users': get('listUsers', 'Lists people', [query('name', 'A part of the name')]),
  '/bills': get('listBills', 'Lists all bills'),
  '/new': get('addedLater', 'Is new'),
})

/** A folder with both versions, and with `shop.yaml` of the first one, edited. */
async function edited(t: TestContext) {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'old.json'), JSON.stringify(old))
  writeFileSync(join(cwd, 'new.json'), JSON.stringify(next))
  const { stdout } = await run(t, ['import', 'openapi', 'old.json'], { cwd })
  const bills = /\n {2}- name: listBills[\s\S]*?\n(?=\n)/.exec(stdout)![0]
  const text = stdout
    .replace(bills, '')
    .replace('name: listUsers', 'name: find_people # as our people say')
    .replace('description: Lists users', 'description: Finds people by name')
    .replace('description: Is edited', 'description: Mine')
  assert.notEqual(text, stdout)
  writeFileSync(join(cwd, 'shop.yaml'), text)
  const update = (...args: string[]) =>
    run(t, ['import', 'openapi', 'new.json', '--update', 'shop.yaml', '--from', 'old.json', ...args], { cwd })
  return { cwd, text, update, read: () => readFileSync(join(cwd, 'shop.yaml'), 'utf8') }
}

const report = `shop.yaml: 1 added, 2 changed, 1 removed, 2 conflicts

Added:
  shop.yaml: addedLater (GET /new)

Changed:
  shop.yaml: listOrders (GET /orders): description, args.state.description, args.sort, args.page
  shop.yaml: find_people (GET /users): args.name.description

Removed:
  shop.yaml: gone (GET /gone)

Changed in the file and in the description; the file keeps what it has:
  shop.yaml: find_people (GET /users): description
  shop.yaml: kept (GET /kept): the operation was removed
`

test('--update merges what the API changed, and keeps what a person edited', async (t) => {
  const { cwd, update, read } = await edited(t)
  const { code, stdout, stderr } = await update()
  assert.deepEqual([code, stderr], [1, ''])
  assert.equal(stdout, `${report}\nCheck the result: plantgw validate shop.yaml\n`)
  const now = read()
  assert.match(now, /- name: find_people # as our people say\n {4}description: Finds people by name\n/)
  assert.match(now, /description: A part of the name/)
  assert.match(now, /description: Lists all orders/)
  assert.match(now, /name: page/)
  assert.match(now, /name: addedLater/)
  assert.match(now, /description: Mine/)
  assert.doesNotMatch(now, /name: sort|name: gone|bills/)
  const sound = await run(t, ['validate', 'shop.yaml'], { cwd })
  assert.equal(sound.code, 0, sound.stdout)
})

test('what was merged is merged: the same versions again change nothing', async (t) => {
  const { update, read } = await edited(t)
  await update()
  const once = read()
  const { stdout } = await update()
  assert.match(stdout, /^shop.yaml: 0 added, 0 changed, 0 removed, 2 conflicts\n/)
  assert.equal(read(), once)
})

test('--dry-run and --format json say the same, and write nothing', async (t) => {
  const { text, update, read } = await edited(t)
  const dry = await update('--dry-run')
  assert.equal(dry.stdout, `${report}\nNothing was written: omit --dry-run to write it.\n`)
  const { stdout } = await update('--dry-run', '--format', 'json')
  const { added, files } = JSON.parse(stdout)
  assert.deepEqual(added, [{ operation: 'GET /new', tool: 'addedLater', file: 'shop.yaml' }])
  assert.deepEqual(files, ['shop.yaml'])
  assert.equal(read(), text)
})

test('a folder is updated as a file is; --update needs --from, and a file that is there', async (t) => {
  const { cwd } = await edited(t)
  const base = ['import', 'openapi', 'new.json']
  const folder = await run(t, [...base, '--update', '.', '--from', 'old.json', '--dry-run'], { cwd })
  assert.match(folder.stdout, /^\.: 1 added, 2 changed, 1 removed, 2 conflicts\n/)
  const alone = await run(t, [...base, '--update', 'shop.yaml'], { cwd })
  assert.deepEqual([alone.code, /--update and --from belong together/.test(alone.stderr)], [2, true])
  const missing = await run(t, [...base, '--update', 'no.yaml', '--from', 'old.json'], { cwd })
  assert.deepEqual([missing.code, /no such file or folder/.test(missing.stderr)], [2, true])
})

/** What the update of an edited text writes. */
async function updated(t: TestContext, edit: (text: string) => string) {
  const { cwd, text, update, read } = await edited(t)
  const before = edit(text)
  writeFileSync(join(cwd, 'shop.yaml'), before)
  const { stdout, stderr } = await update()
  return { before, after: read(), stdout, stderr }
}

const LAYOUTS: [what: string, edit: (text: string) => string][] = [
  ['CRLF', (text) => text.replaceAll('\n', '\r\n')],
  ['a byte order mark', (text) => `\uFEFF${text}`],
  ['lists without indentation', (text) => text.replaceAll('\n      - ', '\n    - ').replaceAll('\n  ', '\n')],
  ['braces without spaces', (text) => text.replace(/\{ (.*) \}/g, '{$1}')],
]
for (const [what, edit] of LAYOUTS)
  test(`a file with ${what} keeps it: only what the API changed is another line`, async (t) => {
    const { before, after, stderr } = await updated(t, edit)
    assert.equal(stderr, '')
    const plain = await updated(t, (text) => text)
    const different = (one: string, other: string) => {
      const lines = new Set(other.split('\n'))
      return one.split('\n').filter((line) => !lines.has(line)).length
    }
    assert.equal(different(before, after), different(plain.before, plain.after))
    assert.equal(after, edit(plain.after))
  })

test('a comment beside a value that changes stays beside it', async (t) => {
  const { after } = await updated(t, (text) =>
    text.replace('description: Lists orders', `"description": 'Lists orders' # said to us`),
  )
  assert.match(after, /"description": Lists all orders # said to us\n/)
})

test('what other places of the file repeat is a conflict', async (t) => {
  const { after, stdout } = await updated(t, (text) =>
    text
      .replace('description: Lists orders', 'description: &said Lists orders')
      .replace('description: Mine', 'description: *said'),
  )
  assert.match(after, /description: &said Lists orders\n[\s\S]*description: \*said\n/)
  assert.match(stdout, /file keeps what it has:\n {2}shop.yaml: listOrders \(GET \/orders\): description\n/)
})

test('a folder may have other configurations with tools of the same names, and what is no text', async (t) => {
  const { cwd, text } = await edited(t)
  const other = text
    .replaceAll(/\bshop\b/g, 'another')
    .replace('api.example.com', 'other.example.com')
    .replace('name: listOrders', 'name: addedLater')
  writeFileSync(join(cwd, 'another.yaml'), other)
  mkdirSync(join(cwd, 'folder.yaml'))
  const update = (path: string) =>
    run(t, ['import', 'openapi', 'new.json', '--update', path, '--from', 'old.json'], { cwd })
  const { stdout, stderr } = await update('.')
  assert.deepEqual([stdout.split('\n')[0], stderr], ['.: 1 added, 2 changed, 1 removed, 2 conflicts', ''])
  assert.equal(readFileSync(join(cwd, 'another.yaml'), 'utf8'), other)
  writeFileSync(join(cwd, 'bytes.yaml'), Buffer.from([0x61, 0x3a, 0xff]))
  assert.match((await update('bytes.yaml')).stderr, /bytes.yaml: it is not UTF-8 text/)
  assert.match((await update('/dev/null')).stderr, /it is not a regular file/)
})

test('--update gives a file of an earlier release the base URL that new tools need', async (t) => {
  const { cwd, text, update, read } = await edited(t)
  const long = text
    .replace('    baseUrl: https://api.example.com/v1\n', '    config: { url: https://api.example.com/v1 }\n')
    .replace(/endpoint: (.*)/g, 'endpoint: "{{.Config.url}}$1"')
  writeFileSync(join(cwd, 'shop.yaml'), long)
  await update()
  assert.match(read(), /baseUrl: https:\/\/api\.example\.com\/v1/)
  const rendered = await Promise.all(
    ['addedLater', 'listOrders'].map((tool) => run(t, ['render', 'shop.yaml', tool], { cwd })),
  )
  assert.deepEqual(
    rendered.map(({ stdout }) => stdout.split('\n')[0]),
    ['GET https://api.example.com/v1/new', 'GET https://api.example.com/v1/orders'],
  )
})
