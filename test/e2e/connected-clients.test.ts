import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'

/** Where `.ci/services` installs clients. */
const INSTALLED = join(ROOT, 'node_modules/.cache/plantgw-clients/node_modules/.bin')
const TOKEN = 'a-very-long-token-of-ann'

const service = (name: string, router: object = {}) => ({
  name,
  routers: [{ server: 's', prefix: `/${name}`, ...router }],
  servers: [{ name: 's' }],
  tools: [{ name: 'hello', method: 'GET', endpoint: 'http://127.0.0.1:1/', description: 'Says hello' }],
})
const tokens = [{ token: TOKEN, caller: 'ann' }]

/** What a client says of a server that it has connected to. */
const CLIENTS = [
  { client: 'claude-code', command: 'claude', says: (name: string) => new RegExp(`${name}: .*✔ Connected`) },
  { client: 'gemini', command: 'gemini', says: (name: string) => new RegExp(`✓ ${name}: .*Connected`) },
]

for (const { client, command, says } of CLIENTS) {
  const path = join(INSTALLED, command)
  const skip = existsSync(path) ? false : `no ${command} on this machine`
  test(`${command} connects by the file that is written for it`, { skip }, async (t) => {
    const cwd = temporaryFolder(t)
    const env = { HOME: join(cwd, 'home'), PLANTGW_TOKEN: TOKEN, GEMINI_CLI_TRUST_WORKSPACE: 'true' }
    mkdirSync(env.HOME)
    mkdirSync(join(cwd, 'configs'))
    const write = (name: string, value: object) => writeFileSync(join(cwd, name), JSON.stringify(value))
    write('configs/shop.json', service('shop'))
    write('configs/desk.json', service('desk', { auth: { type: 'bearer', tokens } }))
    write('plantgw.yaml', { storage: { type: 'directory', path: 'configs' } })
    const port = String(await freePort())
    await plantgw(t, ['serve', '--port', port], { cwd }).until(/Try it:/)
    const url = `http://127.0.0.1:${port}`
    for (const more of [['/shop'], ['/desk', '--token-env', 'PLANTGW_TOKEN']]) {
      const written = await run(t, ['connect', client, '--url', url, ...more], { cwd, env })
      assert.equal(written.code, 0, written.stderr)
    }
    const { stdout, stderr } = await promisify(execFile)(path, ['mcp', 'list'], {
      cwd,
      env: { ...process.env, ...env },
      timeout: 120_000,
    })
    const shown = `${stdout}${stderr}`.replace(/\x1b\[[\d;]*m/g, '')
    for (const name of ['shop', 'desk']) assert.match(shown, says(name))
  })
}
