import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { listening } from '../support/listening.ts'
import { BIN, plantgw, ROOT, temporaryFolder } from '../support/process.ts'
import { modernHeaders, served } from '../support/served.ts'
import { META } from '../support/wire.ts'

/** Where `.ci/services` installs the binaries of npm's packages for Node. */
const INSTALLED = join(ROOT, 'node_modules/.cache/plantgw-nodes/node_modules')

test('the image runs on Node 24, which is the newest that is tested', () => {
  assert.match(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'), /^ARG NODE_IMAGE=node:24-/m)
  assert.match(readFileSync(join(ROOT, '.github/workflows/ci.yml'), 'utf8'), /node: \[20, 22, 24\]/)
})

for (const major of [22, 24]) {
  const program = join(INSTALLED, `node-${major}/bin/node`)
  const skip = !existsSync(program) && `no Node ${major} from npm: .ci/services installs it`
  test(`the built command line does its work on Node ${major}`, { skip }, async (t) => {
    const { stdout: version } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    assert.match(version, new RegExp(`^v${major}\\.`))
    const api = createServer((request, response) => response.end(`asked for ${request.url}`))
    const base = `http://127.0.0.1:${await listening(t, api)}`
    const routers = (name: string) => [{ server: name, prefix: `/${name}` }]
    const args = [{ name: 'id', position: 'path', type: 'string', required: true }]
    const tool = { name: 'get_item', description: 'Get an item', method: 'GET' }
    const tools = [{ ...tool, endpoint: `${base}/items/{{.Args.id}}`, args }]
    const items = { name: 'items', routers: routers('items'), servers: [{ name: 'items' }], tools }
    const file = join(temporaryFolder(t), 'items.yaml')
    writeFileSync(file, JSON.stringify(items))

    const checked = plantgw(t, ['validate', file], { program })
    assert.equal(await checked.ended, 0, checked.stdout())

    // The same tools through a server over stdio, which is this command line as well.
    const server = {
      name: 'child',
      type: 'stdio',
      command: program,
      args: [BIN, 'serve', '--stdio', file, '--quiet'],
    }
    const child = { name: 'child', routers: routers('child'), mcpServers: [server] }
    const gateway = await served(t, [items, child], { program })
    const call = (prefix: string, id: string, headers: Record<string, string>, more = {}) => {
      const params = { name: 'get_item', arguments: { id }, ...more }
      return gateway.post(`${prefix}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)
    }
    for (const prefix of ['/items', '/child']) {
      const modern = await call(prefix, 'a b', modernHeaders('tools/call', 'get_item'), { _meta: META })
      assert.match(modern.text, /asked for \/items\/a%20b/, prefix)
      const session = await call(prefix, 'c', await gateway.open(prefix))
      assert.match(session.text, /asked for \/items\/c/, prefix)
    }

    const changed = { ...items, tools: [{ ...tools[0], endpoint: `${base}/changed/{{.Args.id}}` }] }
    writeFileSync(join(gateway.folder, 'items.yaml'), JSON.stringify(changed))
    assert.equal((await gateway.send({ path: '/_reload' })).status, 200)
    const after = await call('/items', 'd', await gateway.open('/items'))
    assert.match(after.text, /asked for \/changed\/d/)
    gateway.child.kill('SIGINT')
    assert.equal(await gateway.ended, 0, gateway.stderr())
  })
}
