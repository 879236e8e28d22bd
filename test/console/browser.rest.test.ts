import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barriers } from '../support/chromium.ts'
import { call, HOSTILE, OPTIONS, seen } from './in-browser.ts'

const PAGES = [
  '',
  '/tools?prefix=/shop',
  '/tools?prefix=/shop&tool=order',
  '/calls',
  '/calls?id=1',
  '/servers',
]
const SERVERS = ['/servers?prefix=/faulty', '/tools?prefix=/faulty', '/tools?prefix=/faulty&tool=hostile']
const OTHERS = ['prompt=greet', 'resource=note://first', 'template=note://{id}'].map(
  (one) => `/tools?prefix=/faulty&${one}`,
)
const ALL = [
  ...PAGES,
  ...SERVERS,
  ...OTHERS,
  '/budget',
  '/configurations',
  '/configurations?name=shop',
  '/connect',
]
test('a form of each type of argument, rendered and called', OPTIONS, async (t) => {
  const { page, origin, faults } = await seen(t)
  await page.goto(`${origin}/_console/tools?prefix=/shop&tool=order`)
  await page.getByLabel('id (required)').fill('b c d')
  await page.getByLabel('count').fill('3')
  await page.getByLabel('gift').selectOption('true')
  await page.getByLabel('size').selectOption('M')
  for (const [i, tag] of ['x', 'y'].entries()) {
    await page.getByRole('button', { name: 'Add to tags' }).click()
    await page.getByLabel(`tags ${i + 1}`, { exact: true }).fill(tag)
  }
  assert.deepEqual(JSON.parse(await page.locator('#json').inputValue()), {
    id: 'b c d',
    count: 3,
    gift: true,
    size: 'M',
    tags: ['x', 'y'],
  })
  // Numbers keep the text that was typed.
  await page.getByLabel('price').fill('1e400')
  await page.getByLabel('street').fill('Main')
  await page.getByRole('button', { name: 'Add to lines' }).click()
  await page.getByLabel('lines 1', { exact: true }).fill('12345678901234567890')
  assert.match(
    await page.locator('#json').inputValue(),
    /"price": 1e400,.*"lines": \[\s*12345678901234567890\s*\]/s,
  )
  assert.equal(await call(page, 'Render only'), 'Nothing was sent.')
  assert.match(await page.locator('#sent').innerText(), /^POST .*\/orders\/b%20c%20d/)
  assert.equal(await page.locator('#sent mark').first().getAttribute('title'), 'the argument id')
  assert.match(await call(page), /^Done in \d+ ms, about \d+ tokens/)
  assert.match(await page.locator('#received').innerText(), /"url":"\/orders\/b%20c%20d"/)
  assert.match(await page.locator('#received').innerText(), /\\"price\\":1e400/)
  const marks = await page
    .locator('#sent mark')
    .evaluateAll((nodes) => nodes.map((one) => one.getAttribute('title')))
  assert.ok(
    marks.includes('the argument to.street') && marks.includes('the argument to.lines.0'),
    marks.join(),
  )
  assert.match(await page.locator('#shown').innerText(), /onerror/)
  assert.notEqual(await page.title(), 'owned')
  await page.getByRole('button', { name: 'curl' }).click()
  assert.match(await page.locator('#copied').innerText(), /^curl 'http:\/\/127/)
  assert.deepEqual(faults, [])
})

test('a server asks, and the person answers on the page', OPTIONS, async (t) => {
  const { page, origin, faults } = await seen(t)
  await page.goto(`${origin}/_console/tools?prefix=/asks&tool=greet`)
  assert.equal(await call(page), 'The server asks for input.')
  await page.getByLabel('name (required)').fill('Ada')
  await page.getByRole('button', { name: 'accept' }).click()
  await page.locator('#state').filter({ hasText: /^Done/ }).waitFor()
  assert.match(await page.locator('#shown').innerText(), /Hello Ada/)
  assert.match(await page.locator('#sent').innerText(), /"method":"tools\/call"/)
  assert.deepEqual(faults, [])
})

test('prompts, resources and templates are tried on the page', OPTIONS, async (t) => {
  const { page, origin, faults } = await seen(t)
  const open = (item: string) => page.goto(`${origin}/_console/tools?prefix=/faulty&${item}`)
  await open('prompt=greet')
  await page.getByLabel('who').fill('A')
  await page.locator('datalist option').nth(1).waitFor({ state: 'attached' })
  await page.getByLabel('who').fill('Ada')
  assert.match(await call(page), /^Done/)
  assert.match(await page.locator('#shown').innerText(), /Hello Ada/)
  await open('template=note://{id}')
  await page.getByLabel('id').fill('a b')
  assert.match(await call(page), /^Done/)
  assert.match(await page.locator('#shown').innerText(), /note:\/\/a%20b/)
  await open('resource=note://first')
  assert.match(await call(page), /^Done/)
  assert.match(await page.locator('#shown').innerText(), /A note/)
  assert.notEqual(await page.title(), 'owned')
  assert.deepEqual(faults, [])
})

test('a child that dies, its standard error, and what clients see otherwise', OPTIONS, async (t) => {
  const { page, origin, faults } = await seen(t)
  await page.goto(`${origin}/_console/tools?prefix=/faulty&tool=end`)
  assert.match(await call(page), /^Failed/)
  await page.goto(`${origin}/_console/servers?prefix=/faulty`)
  await page.getByText('1 ended by themselves').waitFor()
  const lines = await page.locator('pre').first().innerText()
  assert.match(lines, /the last line/)
  assert.match(lines, /<script>/)
  assert.doesNotMatch(lines, /[\u001b\u202e]/)
  assert.ok(lines.length < 60_000, `${lines.length} characters`)
  const changed = page.getByRole('table', { name: 'Changed tools' })
  assert.match(await changed.innerText(), /die.*name "die" "end".*huge.*hidden from clients/s)
  assert.notEqual(await page.title(), 'owned')
  assert.deepEqual(faults, [])
})

test('a person logs in with the token, and is logged out by the link', OPTIONS, async (t) => {
  const token = 'an-admin-token-of-30-characters'
  const { page, origin, faults } = await seen(t, {}, { admin: { token } })
  await page.goto(`${origin}/_console`)
  await page.getByLabel(/Token of the administrator/).fill('wrong-token-wrong-token')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('This is no token of an administrator').waitFor()
  await page.getByLabel(/Token of the administrator/).fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('heading', { name: 'Log in to the console' }).waitFor()
  assert.deepEqual(
    faults.filter((fault) => !/status of 401/.test(fault)),
    [],
  )
})

test('calls and refused reloads appear by themselves', OPTIONS, async (t) => {
  const { page, origin, faults, gateway, write } = await seen(t)
  await page.goto(`${origin}/_console/calls`)
  const body = { prefix: '/shop', tool: 'order', arguments: { id: '7' } }
  await page.request.post(`${origin}/_console/call`, { data: body })
  await page.getByRole('cell', { name: 'order', exact: true }).waitFor()
  await page.goto(`${origin}/_console`)
  await page.getByText('Nothing needs attention.').waitFor()
  write('name: shop\nroutrs: []\n')
  await gateway.reload()
  await page.getByText('routrs').first().waitFor()
  write('')
  await gateway.reload()
  await page.getByText('Nothing needs attention.').waitFor()
  assert.deepEqual(faults, [])
})

for (const colorScheme of ['light', 'dark'] as const)
  test(`every page is clean for screen readers, ${colorScheme}`, OPTIONS, async (t) => {
    const { page, origin, faults } = await seen(t, { colorScheme })
    const body = { prefix: '/shop', tool: 'order', arguments: { id: HOSTILE } }
    await page.request.post(`${origin}/_console/call`, { data: body })
    for (const path of ALL) {
      await page.goto(`${origin}/_console${path}`)
      assert.deepEqual(await barriers(page), [], path)
      assert.notEqual(await page.title(), 'owned', path)
    }
    assert.deepEqual(faults, [])
  })

test('every page fits on a phone, and reads without JavaScript', OPTIONS, async (t) => {
  const { page, origin } = await seen(t, { viewport: { width: 400, height: 800 }, javaScriptEnabled: false })
  await page.request.post(`${origin}/_console/call`, {
    data: { prefix: '/shop', tool: 'order', arguments: { id: '7' } },
  })
  for (const path of ALL) {
    await page.goto(`${origin}/_console${path}`)
    assert.ok((await page.locator('h1').innerText()).length > 0, path)
    const { width } = (await page.locator('body').boundingBox())!
    assert.ok(width <= 400, `${path} is ${width} wide`)
  }
})
