import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENT_NAMES, clientOf, entryNamer, type Places, urlOf } from '../../src/import/clients/index.ts'

const URL_OF_SHOP = 'https://tools.example.com/shop/mcp'
const PLACES: Record<string, Places> = {
  linux: { platform: 'linux', home: '/home/ann', env: {} },
  darwin: { platform: 'darwin', home: '/Users/ann', env: {} },
  win32: { platform: 'win32', home: 'C:\\Users\\ann', env: { APPDATA: 'C:\\Users\\ann\\AppData\\Roaming' } },
}

test('the file of each client, on each system', () => {
  const files = (places: Places) =>
    Object.fromEntries(CLIENT_NAMES.map((name) => [name, clientOf(name).file(places)]))
  assert.deepEqual(files(PLACES.linux!), {
    'claude-code': '/home/ann/.claude.json',
    'claude-desktop': '/home/ann/.config/Claude/claude_desktop_config.json',
    cursor: '/home/ann/.cursor/mcp.json',
    vscode: '/home/ann/.config/Code/User/mcp.json',
    windsurf: '/home/ann/.codeium/windsurf/mcp_config.json',
    devin: '/home/ann/.config/devin/mcp_config.json',
    codex: '/home/ann/.codex/config.toml',
    gemini: '/home/ann/.gemini/settings.json',
    zed: '/home/ann/.config/zed/settings.json',
  })
  assert.deepEqual(files(PLACES.darwin!), {
    'claude-code': '/Users/ann/.claude.json',
    'claude-desktop': '/Users/ann/Library/Application Support/Claude/claude_desktop_config.json',
    cursor: '/Users/ann/.cursor/mcp.json',
    vscode: '/Users/ann/Library/Application Support/Code/User/mcp.json',
    windsurf: '/Users/ann/.codeium/windsurf/mcp_config.json',
    devin: '/Users/ann/.config/devin/mcp_config.json',
    codex: '/Users/ann/.codex/config.toml',
    gemini: '/Users/ann/.gemini/settings.json',
    zed: '/Users/ann/.config/zed/settings.json',
  })
  const windows = files(PLACES.win32!)
  assert.equal(windows.vscode, 'C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\mcp.json')
  assert.equal(
    windows['claude-desktop'],
    'C:\\Users\\ann\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
  )
  assert.equal(windows.zed, 'C:\\Users\\ann\\AppData\\Roaming\\Zed\\settings.json')
  assert.equal(windows.codex, 'C:\\Users\\ann\\.codex\\config.toml')
  const env = { XDG_CONFIG_HOME: '/x', CODEX_HOME: '/c', CLAUDE_CONFIG_DIR: '/d' }
  const moved = files({ ...PLACES.linux!, env })
  assert.deepEqual(
    [moved.vscode, moved.codex, moved['claude-code']],
    ['/x/Code/User/mcp.json', '/c/config.toml', '/d/.claude.json'],
  )
})

test('each client gets the URL and the name of the variable, and none a token', () => {
  const endpoint = { name: 'shop', url: URL_OF_SHOP, tokenEnv: 'SHOP_TOKEN' }
  const entries = Object.fromEntries(
    CLIENT_NAMES.map((name) => [name, clientOf(name).entry(endpoint, 'linux')]),
  )
  const header = (value: string) => ({ headers: { Authorization: `Bearer ${value}` } })
  const bridge = {
    command: 'npx',
    args: [
      '-y',
      'mcp-remote@0.15.1',
      URL_OF_SHOP,
      '--transport',
      'http-only',
      '--header',
      'Authorization:Bearer ${SHOP_TOKEN}',
    ],
  }
  const url = URL_OF_SHOP
  assert.deepEqual(entries, {
    'claude-code': { type: 'http', url, ...header('${SHOP_TOKEN}') },
    'claude-desktop': bridge,
    cursor: { url, ...header('${env:SHOP_TOKEN}') },
    vscode: { type: 'http', url, ...header('${input:shop-token}') },
    windsurf: { serverUrl: url, ...header('${env:SHOP_TOKEN}') },
    devin: { url, ...header('${env:SHOP_TOKEN}') },
    codex: { url, bearer_token_env_var: 'SHOP_TOKEN' },
    gemini: { type: 'http', url, ...header('${SHOP_TOKEN}') },
    zed: bridge,
  })
  for (const entry of Object.values(entries)) assert.equal(urlOf(entry), URL_OF_SHOP)
  assert.deepEqual(clientOf('zed').entry({ name: 'shop', url }, 'linux'), { url })
  assert.deepEqual(clientOf('vscode').inputs?.(endpoint), [
    { type: 'promptString', id: 'shop-token', description: 'SHOP_TOKEN of plantgw', password: true },
  ])
})

test('a command is started by the shell on Windows, and allowed plain HTTP only to other machines', () => {
  const { entry } = clientOf('claude-desktop')
  const at = (url: string, platform: NodeJS.Platform) => entry({ name: 'a', url }, platform)
  assert.deepEqual(at(URL_OF_SHOP, 'win32').command, 'cmd')
  assert.deepEqual((at(URL_OF_SHOP, 'win32').args as string[]).slice(0, 3), ['/c', 'npx', '-y'])
  const isAllowed = (url: string) => (at(url, 'linux').args as string[]).includes('--allow-http')
  assert.equal(isAllowed('http://10.0.0.1/a/mcp'), true)
  for (const url of [
    'http://127.0.0.1:5235/a/mcp',
    'http://[::1]:5235/a/mcp',
    'http://localhost/a/mcp',
    URL_OF_SHOP,
  ])
    assert.equal(isAllowed(url), false, url)
})

test('names of entries are made of prefixes, each once', () => {
  const nameOf = entryNamer()
  assert.deepEqual(['/', '/shop', '/shop/orders/v2', '/Shop', '/a.b~c'].map(nameOf), [
    'plantgw',
    'shop',
    'shop-orders-v2',
    'shop-2',
    'a-b-c',
  ])
})
