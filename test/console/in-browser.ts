import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, type TestContext } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { type Browser, chromium, type Page } from 'playwright-core'
import { chromiumPath, noChromium } from '../support/chromium.ts'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'

const SERVER = join(ROOT, 'test/console/asks.js')
const FAULTY = join(ROOT, 'test/console/faulty.js')
const ODD = join(ROOT, 'test/console/odd.js')
/** Markup, an escape sequence, marks that turn text around, and a long line. */
export const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u001b[31m\u202eabc${'x'.repeat(100_000)}`

let browser: Browser
before(async () => {
  if (!noChromium) browser = await chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox'] })
})
after(() => browser?.close())

export interface Seen {
  page: Page
  origin: string
  /** What the browser complained about. */
  faults: string[]
  gateway: Awaited<ReturnType<typeof gatewayOver>>['gateway']
  write(text: string): void
}

/** The console of a gateway with HTTP tools and an MCP server, in a browser. */
export async function seen(t: TestContext, view: object = {}, settings: object = {}): Promise<Seen> {
  const api = await listening(
    t,
    createServer((request, response) => {
      let text = ''
      request.on('data', (piece) => {
        text += piece
      })
      request.on('end', () => {
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ url: request.url, body: text, note: HOSTILE }))
      })
    }),
  )
  const folder = temporaryFolder(t)
  const file = join(folder, 'shop.yaml')
  const configuration = (description: string) =>
    JSON.stringify({
      name: 'shop',
      routers: [
        { server: 'shop', prefix: '/shop' },
        { server: 'asks', prefix: '/asks' },
        { server: 'faulty', prefix: '/faulty' },
        { server: 'odd', prefix: '/odd' },
      ],
      servers: [{ name: 'shop', description, baseUrl: `http://127.0.0.1:${api}` }],
      mcpServers: [
        { name: 'asks', type: 'stdio', command: process.execPath, args: [SERVER] },
        { name: 'odd', type: 'stdio', command: process.execPath, args: [ODD] },
        {
          name: 'faulty',
          type: 'stdio',
          command: process.execPath,
          args: [FAULTY],
          blockedTools: ['huge'],
          toolOverrides: { die: { name: 'end', description: 'Ends' } },
        },
      ],
      tools: [
        {
          name: 'order',
          description: `Orders. ${HOSTILE}`,
          method: 'POST',
          endpoint: '/orders/{{.Args.id}}',
          args: [
            { name: 'id', type: 'string', position: 'path', description: HOSTILE, required: true },
            { name: 'count', type: 'integer', position: 'body', description: 'How many' },
            { name: 'gift', type: 'boolean', position: 'body', description: 'Whether it is a gift' },
            { name: 'size', type: 'string', enum: ['S', 'M'], position: 'body', description: 'Its size' },
            { name: 'tags', type: 'array', items: { type: 'string' }, position: 'body', description: 'Tags' },
            { name: 'price', type: 'number', position: 'body', description: 'Price' },
            {
              name: 'to',
              type: 'object',
              position: 'body',
              description: 'Where to',
              properties: {
                street: { type: 'string' },
                lines: { type: 'array', items: { type: 'integer' } },
              },
            },
          ],
        },
      ],
    })
  writeFileSync(file, configuration('Shop'))
  const { gateway, findings } = await gatewayOver(t, [folder], { console: { contents: true }, ...settings })
  assert.deepEqual(findings, [])
  const port = await listening(t, createServer(getRequestListener(gateway.app.fetch)))
  const { page, faults } = await watchedPage(t, view)
  const origin = `http://127.0.0.1:${port}`
  return {
    page,
    origin,
    faults,
    gateway,
    write: (text) => writeFileSync(file, text || configuration('Shop')),
  }
}

/** A new page, and what the browser complains about. @param ignored complaints that are none */
export async function watchedPage(t: TestContext, view: object, ignored?: RegExp) {
  const context = await browser.newContext(view)
  t.after(() => context.close())
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !ignored?.test(message.text())) faults.push(message.text())
  })
  return { page, faults }
}

export const OPTIONS = { skip: noChromium, timeout: 180_000 }

/** Presses a button of a form. @returns what the page says about it */
export async function call(page: Page, button = 'Call'): Promise<string> {
  await page.getByRole('button', { name: button, exact: true }).click()
  const state = page.locator('#state')
  await state.filter({ hasText: /^(?:Done|Failed|Nothing|The server asks)/ }).waitFor()
  return state.innerText()
}
