import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openStore } from '../../src/store/index.ts'
import { KINDS } from '../store/kinds.ts'
import { barriers, noChromium } from '../support/chromium.ts'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { OPTIONS, watchedPage } from './in-browser.ts'

const ADMIN = 'an-admin-token-of-30-characters'

const shop = (description: string) => `# Orders of the shop
name: shop
routers:
  - { server: shop, prefix: /shop }
servers:
  - name: shop
    description: ${description}
    baseUrl: http://127.0.0.1:9
tools:
  - name: get_order
    description: Get an order by its number.
    method: GET
    endpoint: /orders/{{.Args.id}}
    args:
      - { name: id, type: string, position: path, description: Number of the order, required: true }
`

interface Seen {
  page: Page
  origin: string
  /** What the browser complained about. */
  faults: string[]
}

/** A browser that is logged in to the console of `plantgw serve`. */
async function seen(t: TestContext, cwd: string, settings: object, view: object = {}): Promise<Seen> {
  const port = await freePort()
  writeFileSync(join(cwd, 'plantgw.yaml'), JSON.stringify({ port, admin: { token: ADMIN }, ...settings }))
  const gateway = plantgw(t, ['serve', '--skip-invalid', '--settings', 'plantgw.yaml'], { cwd })
  await gateway.until(/_console\?code=[\w-]{32}/)
  const [link = ''] = /http:\S+_console\?code=\S+/.exec(gateway.stdout()) ?? []
  // Refused saves are no faults of the page.
  const { page, faults } = await watchedPage(t, view, /status of 409/)
  await page.goto(link)
  return { page, origin: `http://127.0.0.1:${port}`, faults }
}

function folderOf(t: TestContext, text = shop('Shop')) {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'configs'))
  const file = join(cwd, 'configs/shop.yaml')
  writeFileSync(file, text)
  const storage = { type: 'directory', path: 'configs' }
  return { cwd, file, settings: { storage, console: { edit: true } } }
}

/** Replaces the text in the editor. */
async function write(page: Page, text: string): Promise<void> {
  await page.getByLabel('Text of the configuration').focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

test('an error is underlined, a text with it is refused, and a good one is served', OPTIONS, async (t) => {
  const { cwd, file, settings } = folderOf(t)
  const { page, origin, faults } = await seen(t, cwd, settings)
  await page.goto(`${origin}/_console/configurations?name=shop`)
  await write(page, shop('Shop').replace('routers:', 'routrs:'))
  await page.locator('.cm-lintRange-error').first().waitFor()
  await page.locator('.cm-lintRange-error').first().hover()
  await page.locator('.cm-tooltip', { hasText: /routrs/ }).waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Nothing was written, as it has errors').waitFor()
  assert.equal(readFileSync(file, 'utf8'), shop('Shop'))
  await write(page, shop('New'))
  await page.keyboard.press('Control+s')
  await page.getByText('Reloaded; changed: shop.').waitFor()
  assert.equal(readFileSync(file, 'utf8'), shop('New'))
  assert.deepEqual(faults, [])
})

test('a file that another has changed is not overwritten, and the text stays', OPTIONS, async (t) => {
  const { cwd, file, settings } = folderOf(t, shop('Shop').replaceAll('\n', '\r\n'))
  const { page, origin } = await seen(t, cwd, settings)
  await page.goto(`${origin}/_console/configurations?name=shop`)
  await write(page, shop('Mine'))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Reloaded; changed: shop.').waitFor()
  assert.equal(readFileSync(file, 'utf8'), shop('Mine').replaceAll('\n', '\r\n'))
  writeFileSync(file, shop('Theirs'))
  await write(page, shop('Mine again'))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('was changed in the meantime: nothing was written').waitFor()
  assert.equal(readFileSync(file, 'utf8'), shop('Theirs'))
  assert.match(await page.locator('.cm-content').innerText(), /Mine again/)
})

for (const { type, make, skip } of KINDS.filter(({ type }) => type !== 'directory'))
  test(`${type}: versions are compared and taken back`, {
    ...OPTIONS,
    skip: noChromium || (skip ?? false),
  }, async (t) => {
    const storage = await make(t)
    const store = await openStore(storage, {})
    t.after(() => store.close())
    await store.apply([{ name: 'shop', tenant: 'default', text: shop('One') }], { author: 'ann' })
    const { page, origin, faults } = await seen(t, temporaryFolder(t), { storage })
    await page.goto(`${origin}/_console/configurations?name=shop`)
    await write(page, shop('Two'))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/Saved as version 2/).waitFor()
    await page.reload()
    await page.getByRole('link', { name: 'Changes of 2' }).click()
    await page.locator('ins', { hasText: 'description: Two' }).waitFor()
    await page.goBack()
    page.on('dialog', (dialog) => dialog.accept())
    await page.getByRole('button', { name: 'Go back to 1' }).click()
    await page.getByText(/Saved as version 3/).waitFor()
    assert.match(await page.locator('.cm-content').innerText(), /description: One/)
    assert.equal((await store.get({ name: 'shop', tenant: 'default' }))?.text, shop('One'))
    assert.deepEqual(faults, [])
  })

for (const colorScheme of ['light', 'dark'] as const)
  test(`the editor is clean for screen readers and fits on a phone, ${colorScheme}`, OPTIONS, async (t) => {
    const { cwd, settings } = folderOf(t)
    writeFileSync(join(cwd, 'configs/broken.yaml'), 'name: broken\nroutrs: []\n')
    const { page, origin, faults } = await seen(t, cwd, settings, { colorScheme })
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(`${origin}/_console/configurations`)
      assert.deepEqual(await barriers(page), [])
      await page.goto(`${origin}/_console/configurations?name=shop`)
      await write(page, shop('Shop').replace('routers:', 'routrs:'))
      await page.locator('.cm-lintRange-error').first().waitFor()
      assert.deepEqual(await barriers(page), [])
      const wide = await page.evaluate('document.documentElement.scrollWidth')
      assert.ok((wide as number) <= width, `${wide} of ${width}`)
      const { PLANTGW_PICTURES: pictures } = process.env
      if (pictures) await page.screenshot({ path: `${pictures}/editor-${colorScheme}-${width}.png` })
      page.on('dialog', (dialog) => dialog.accept())
    }
    assert.deepEqual(faults, [])
  })
