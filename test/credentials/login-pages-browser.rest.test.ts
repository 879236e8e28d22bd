import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { authorizationServer } from '../fixtures/authorization-server.ts'
import { protectedServer } from '../fixtures/protected-server.ts'
import { barriers, chromiumPath, noChromium } from '../support/chromium.ts'
import { gatewayHere } from '../support/gateway.ts'
import { codeIn, KEY, PUBLIC, rawCall, urlIn } from '../support/logins.ts'
import { temporaryFolder } from '../support/process.ts'

const TOKEN = 'ann-token-of-20-characters'
/** Folder for pictures of the pages, to be looked at. */
const PICTURES = process.env.PLANTGW_PICTURES

test('a person logs in with a browser, and sees and ends the login', { skip: noChromium }, async (t) => {
  const as = await authorizationServer(t)
  const server = await protectedServer(t, as)
  const configuration = {
    name: 'notes',
    routers: [
      {
        server: 'notes',
        prefix: '/notes',
        auth: { type: 'bearer', tokens: [{ caller: 'ann', token: TOKEN }] },
      },
    ],
    mcpServers: [
      {
        name: 'notes',
        type: 'streamable-http',
        url: `${server.origin}/mcp`,
        credentials: { type: 'oauth', for: 'caller' },
      },
    ],
  }
  const vault = { key: KEY, folder: join(temporaryFolder(t), 'logins') }
  const settings = { vault, outbound: { allowHosts: ['127.0.0.1'] } }
  const { base } = await gatewayHere(t, configuration, {}, settings)
  const browser = await chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  const context = await browser.newContext({ viewport: { width: 400, height: 700 } })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  // A proxy with a certificate stands before the gateway.
  await page.route(`${PUBLIC}/**`, async (route) => {
    const url = route.request().url().replace(PUBLIC, base)
    await route.fulfill({ response: await route.fetch({ url, maxRedirects: 0 }) })
  })
  const { call } = await rawCall(base, '/notes', TOKEN, '2025-06-18', {}, 'whoami')
  const [{ text }] = (await call()).result.content
  await page.goto(urlIn(text))
  await check(page, 'page')
  await page.getByLabel('Code that your MCP client shows').fill('AAAA-AAAA')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('That is not the code.').waitFor()
  await check(page, 'wrong')
  await page.getByLabel('Code that your MCP client shows').fill(codeIn(text)!)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('You are logged in at notes').waitFor()
  await check(page, 'done')
  assert.equal((await call()).result.content[0].text, 'alice')
  await page.getByRole('link', { name: 'Your logins' }).click()
  await page.getByText('Logins of ann').waitFor()
  await check(page, 'logins')
  await page.getByRole('button', { name: 'End the login at notes' }).click()
  await page.getByRole('status').waitFor()
  await check(page, 'ended')
  assert.match(await page.content(), /its tokens are revoked/)
  await context.clearCookies()
  await page.goto(`${PUBLIC}/_login/`)
  await check(page, 'unknown')
  assert.deepEqual(faults, [])
})

async function check(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`) })
  const wide = await page.evaluate('document.documentElement.scrollWidth')
  assert.ok(Number(wide) <= 400, `${name} is ${wide} px wide`)
  // The page allows no scripts of its own.
  assert.deepEqual(await barriers(page), [], name)
}
