import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, ROOT, temporaryFolder } from '../support/process.ts'

/** Scenarios of the official suite that a server of tools alone can be put to. */
const SCENARIOS: Record<string, string[]> = {
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'server-session-lifecycle',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'dns-rebinding-protection',
    'http-header-validation',
    'http-custom-header-server-validation',
  ],
}

const SERVICE = (port: number) => `
name: suite
routers: [{ server: suite, prefix: /suite }]
servers: [{ name: suite, description: What the official suite is run against }]
tools:
  - name: in_region
    description: A tool whose region a client mirrors into a header
    method: GET
    endpoint: "http://127.0.0.1:${port}/nothing"
    inputSchema:
      type: object
      properties:
        region: { type: string, description: Where, x-mcp-header: Region }
`

/** The suite needs `fs.globSync`, which Node has from version 22 on; nothing that runs here calls it. */
const SHIM = `data:text/javascript,export * from "node:fs"; export const globSync = () => []`
const HOOKS = `export const resolve = (specifier, context, next) =>
  specifier === 'fs' && context.parentURL?.includes('/conformance/')
    ? { url: ${JSON.stringify(SHIM)}, shortCircuit: true }
    : next(specifier, context)`

test('the official conformance suite, as far as it speaks of tools', async (t) => {
  const folder = temporaryFolder(t)
  const port = await freePort()
  writeFileSync(join(folder, 'suite.yaml'), SERVICE(port))
  writeFileSync(join(folder, 'hooks.mjs'), HOOKS)
  writeFileSync(
    join(folder, 'preload.mjs'),
    `import { register } from 'node:module'\nregister('./hooks.mjs', import.meta.url)\n`,
  )
  const gateway = plantgw(t, ['serve', join(folder, 'suite.yaml'), '--port', String(port)])
  await gateway.until(/plantgw serves/)
  const suite = join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

  for (const [revision, scenarios] of Object.entries(SCENARIOS))
    for (const scenario of scenarios)
      await t.test(`${revision} ${scenario}`, async () => {
        const url = `http://127.0.0.1:${port}/suite/mcp`
        const args = ['server', '--url', url, '--scenario', scenario, '--spec-version', revision]
        const child = spawn(process.execPath, ['--import', join(folder, 'preload.mjs'), suite, ...args], {
          cwd: folder,
        })
        let output = ''
        for (const stream of [child.stdout, child.stderr])
          stream.setEncoding('utf8').on('data', (text: string) => {
            output += text
          })
        await new Promise((resolve) => child.on('close', resolve))
        assert.match(output, /Passed: (\d+)\/\1, 0 failed, 0 warnings/, output)
      })
})
