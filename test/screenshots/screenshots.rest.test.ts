// Makes the pictures of the documentation from the running product. UPDATE_SCREENSHOTS=1 writes them to docs/screenshots.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { look, noChromium, type View } from '../support/chromium.ts'
import { startLanguageServer } from '../support/language-server.ts'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'
import { buildEditor, editorPage, terminalPage } from './pages.ts'

const SHOP = `name: shop
routers:
  - { server: shop, prefix: /shop }
servers:
  - name: shop
tools:
  - name: get_order
    description: Gets an order of the shop
    method: GETT
    endpoint: "https://api.example.com/orders/{{.Args.ordr}}"
    args:
      - name: order
        postion: path
        required: true
        description: Number of the order
`

test('a terminal with findings', { skip: noChromium }, async (t) => {
  const cwd = folderWith(t, SHOP)
  const { stdout } = await run(t, ['validate', 'configs'], { cwd, env: { FORCE_COLOR: '1' } })
  const url = fileIn(cwd, terminalPage('plantgw validate configs', stdout))
  await take(t, 'terminal', url, { height: 480 }, [
    'hint:',
    'Did you mean `.Args.order`?',
    '3 errors in 1 file',
  ])
})

test('an editor with what the schema finds', { skip: noChromium }, async (t) => {
  const cwd = folderWith(t, SHOP)
  const server = await startLanguageServer(t)
  const schema = `# yaml-language-server: $schema=${ROOT}schemas/configuration.schema.json\n`
  const found = await server.open(join(cwd, 'configs/shop.yaml'), schema + SHOP)
  // The picture does not show the first line, which has a path of this machine.
  const shown = found.map((one) => ({
    ...one,
    range: { start: above(one.range.start), end: above(one.range.end) },
  }))
  buildEditor(cwd)
  const url = fileIn(cwd, editorPage(SHOP, shown))
  await take(t, 'editor', url, { height: 420 }, ['cm-lintRange-error', 'Property postion is not allowed.'])
})

test('the console, with a file that has an error, and a tool', { skip: noChromium }, async (t) => {
  const api = await listening(
    t,
    createServer((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"state":"sent","plants":["Fern"]}'),
    ),
  )
  const good = SHOP.replace('GETT', 'GET')
    .replace('ordr', 'order')
    .replace('postion', 'position')
    .replace('https://api.example.com', '')
    .replace('tools:', `    baseUrl: http://127.0.0.1:${api}\ntools:`)
  const cwd = folderWith(t, good)
  writeFileSync(
    join(cwd, 'configs/files.yaml'),
    `name: files
routers:
  - { server: files, prefix: /files }
mcpServers:
  - { name: files, type: stdio, command: npx, args: ["-y", "@modelcontextprotocol/server-filesystem", "."] }
`,
  )
  const port = await freePort()
  const gateway = plantgw(t, ['serve', 'configs', '--port', String(port)], { cwd })
  await gateway.until(/serves 2 prefixes/)
  writeFileSync(join(cwd, 'configs/shop.yaml'), SHOP)
  await fetch(`http://127.0.0.1:${port}/_reload`, { method: 'POST' })
  const console = `http://127.0.0.1:${port}/_console`
  await take(t, 'console', console, { width: 1100, height: 800 }, ['/shop', 'postion', 'refused'])
  const called = async (page: Page) => {
    await page.getByLabel('order (required)').fill('7 b')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByText(/^Done in/).waitFor()
  }
  const tool = `${console}/tools?prefix=/shop&tool=get_order`
  await take(t, 'tool', tool, { width: 1100, height: 880, use: called }, ['7%20b</mark>', '"state":"sent"'])
})

/** Looks at a page in both colour schemes. */
async function take(
  t: TestContext,
  name: string,
  url: string,
  { width = 900, height, use }: Pick<View, 'height' | 'use'> & { width?: number },
  shown: readonly string[],
): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    const { png, dom } = await look(t, url, { width, height, scheme, use })
    const text = dom.replace(/<script.*?<\/script>/gs, '')
    for (const each of shown) assert.ok(text.includes(each), `${name} does not show ${each}:\n${text}`)
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [width * 2, height * 2])
    const file = join(ROOT, `docs/screenshots/${name}-${scheme}.png`)
    if (process.env.UPDATE_SCREENSHOTS) {
      mkdirSync(join(ROOT, 'docs/screenshots'), { recursive: true })
      writeFileSync(file, png)
    }
    assert.ok(existsSync(file), `missing: UPDATE_SCREENSHOTS=1 writes ${file}`)
  }
}

function folderWith(t: TestContext, shop: string): string {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  writeFileSync(join(folder, 'configs/shop.yaml'), shop)
  return folder
}

function fileIn(folder: string, html: string): string {
  writeFileSync(join(folder, 'page.html'), html)
  return pathToFileURL(join(folder, 'page.html')).href
}

function above({ line, character }: { line: number; character: number }) {
  return { line: line - 1, character }
}
