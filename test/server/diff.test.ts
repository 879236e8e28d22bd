import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const tool = (name: string, more = '') =>
  `  - {name: ${name}, description: A tool, method: GET, endpoint: "http://127.0.0.1:9/"${more}}\n`
const configuration = (name: string, tools: string) =>
  `name: ${name}\nrouters: [{server: s, prefix: /${name}}]\nservers: [{name: s, description: A test}]\ntools:\n${tools}`

test('plantgw diff tells what a reload would do, and does nothing', async (t) => {
  const folder = temporaryFolder(t)
  const at = (name: string) => join(folder, 'configs', `${name}.yaml`)
  const settings = join(folder, 'plantgw.yml')
  const port = await freePort()
  const admin = { token: 'an-admin-token-of-32-characters!' }
  writeFileSync(settings, JSON.stringify({ port, admin, storage: { type: 'directory', path: 'configs' } }))
  const write = (name: string, tools: string) => writeFileSync(at(name), configuration(name, tools))
  mkdirSync(join(folder, 'configs'))
  write('a', tool('one') + tool('two'))
  write('b', tool('one'))
  write('c', tool('one'))
  const proxy = (args: string) => `name: p
routers: [{server: m, prefix: /p}]
mcpServers: [{type: stdio, name: m, command: node, args: [${args}]}]
`
  writeFileSync(at('p'), proxy('-v'))
  const gateway = plantgw(t, ['serve', '-s', settings])
  await gateway.until(/plantgw serves/)
  const diff = (...args: string[]) => run(t, ['diff', '-s', settings, ...args])

  const nothing = await diff()
  assert.equal(nothing.stdout, 'a reload would change nothing (generation 1)\n')
  assert.equal(nothing.code, 0)
  assert.equal((await run(t, ['config', 'diff', '-s', settings])).stdout, nothing.stdout)
  assert.equal((await diff('-f', join(folder, 'configs'))).code, 0)

  write('a', tool('two', ', args: [{name: q, position: query}]') + tool('three'))
  rmSync(at('b'))
  writeFileSync(at('c'), configuration('c', tool('one')).replace('GET', 'GTE'))
  write('d', tool('one'))
  writeFileSync(at('e'), configuration('e', tool('one')).replace('GET', 'GTE'))
  writeFileSync(at('p'), proxy('-h'))
  for (let i = 0; i < 2; i++) {
    const { code, stdout } = await diff()
    assert.equal(
      stdout.replace(/^.*\/(\w\.yaml:)/gm, '$1'),
      `+ d added
    + /d: tools +one
~ a changed
    ~ /a: tools +three ~two -one
~ p changed
    ~ /p: MCP servers m
- b removed
    - /b: tools -one
! c refused: its current version stays in service
! e refused: it is not served
c.yaml:5:46: error: \`GTE\` is not an HTTP method
  hint: Did you mean \`GET\`?
e.yaml:5:46: error: \`GTE\` is not an HTTP method
  hint: Did you mean \`GET\`?
a reload would make generation 2
`,
    )
    assert.equal(code, 1)
  }
  const told = JSON.parse((await diff('--format', 'json')).stdout)
  assert.deepEqual([told.generation, told.added, told.refused], [1, ['d'], ['c', 'e']])

  rmSync(join(folder, 'configs'), { recursive: true })
  const lost = await diff()
  assert.equal(lost.code, 1)
  assert.match(lost.stdout, /error: there is no such file or folder[\s\S]*would change nothing/)

  const stranger = join(folder, 'other.yml')
  writeFileSync(stranger, JSON.stringify({ admin: { token: 'another-token-of-16' } }))
  const refused = await run(t, ['diff', '-s', stranger, '--url', `http://127.0.0.1:${port}`])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /requires the admin token/)
  const nobody = await run(t, ['diff', '--url', `http://127.0.0.1:${await freePort()}`])
  assert.match(nobody.stderr, /refused the connection.*Is the gateway running\?/)
  for (const words of [['diff'], ['reload'], ['config', 'list'], ['publish'], ['connect', 'cursor']]) {
    const wrong = await run(t, words, { cwd: folder, env: { PLANTGW_PORT: 'x' } })
    assert.deepEqual([wrong.code, /`port` must be an integer/.test(wrong.stderr)], [2, true], words.join(' '))
  }
})
