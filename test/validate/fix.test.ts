import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run, temporaryFolder } from '../support/process.ts'

const wrong = `# The shop.
name: shop
routers:
  - {sever: shop, prefix: "shop/"} # both
servers:
  - name: shop
    allowedTools: [ serach ]
tools:
  - name: search
    descripton: 'Finds things'   # what the model reads
    method: GTE
    endpoint: "https://api.example.com/{{.Args.querry}}"
    args:
      - {name: query, position: pth, required: true, description: What to find}
      - {name: limit, position: query, type: strng, description: How many}
`
const right = wrong
  .replace('sever:', 'server:')
  .replace('"shop/"', '"/shop"')
  .replace('serach', 'search')
  .replace('descripton', 'description')
  .replace('GTE', 'GET')
  .replace('querry', 'query')
  .replace('pth', 'path')
  .replace('strng', 'string')

test('validate --fix mends what leaves no doubt, and nothing else of the file', async (t) => {
  const cwd = temporaryFolder(t)
  const file = join(cwd, 'shop.yaml')
  writeFileSync(file, wrong.replaceAll('\n', '\r\n'))
  const fixed = await run(t, ['validate', '--fix', 'shop.yaml'], { cwd })
  assert.equal(readFileSync(file, 'utf8'), right.replaceAll('\n', '\r\n'))
  assert.deepEqual(fixed.stdout.split('\n').slice(0, 2), [
    'shop.yaml:4:6: fixed: `sever` → `server`',
    'shop.yaml:4:27: fixed: `"shop/"` → `"/shop"`',
  ])
  assert.match(fixed.stdout, /1 file, nothing wrong\n$/)
  assert.equal(fixed.code, 0)
  const again = await run(t, ['validate', '--fix', 'shop.yaml'], { cwd })
  assert.equal(again.stdout, '1 file, nothing wrong\n')

  const piped = await run(t, ['validate', '--fix', '-'], { cwd, input: wrong })
  assert.equal(piped.stdout, right)
  assert.match(piped.stderr, /<stdin>:7:21: fixed: `serach` → `search`/)
})

test('validate --fix leaves alone what may mean something else', async (t) => {
  const cwd = temporaryFolder(t)
  const doubtful = `name: shop
routers: [{server: shp, prefix: /s hop, x-note: 1}]
servers: [{name: shop, alowedToolz: []}, {name: ship}]
tools:
  - name: a
    description: A tool
    method: OP
    endpoint: http://localhost/
    # plantgw-ignore unknown-key: a note of ours
    descripton: 1
`
  writeFileSync(join(cwd, 'shop.yaml'), doubtful)
  const { code, stdout } = await run(t, ['validate', '--fix', 'shop.yaml'], { cwd })
  assert.equal(readFileSync(join(cwd, 'shop.yaml'), 'utf8'), doubtful)
  assert.equal(code, 1)
  assert.doesNotMatch(stdout, /fixed/)
})

test('validate --fix mends types, truth values and origins', async (t) => {
  const file = join(temporaryFolder(t), 'shop.yaml')
  const wrong = `\ufeffname: shop
routers:
  - {server: shop, prefix: /shop, cors: {allowOrigins: ['https://app.example.com/', "https://*.example.com", "\${ORIGIN:https://b.example.com/}"]}}
servers: [{name: shop}]
tools:
  - name: find
    description: Finds
    method: GET
    endpoint: "http://localhost/{{.Args.id}}"
    args:
      - {name: id, position: path, type: "int", required: "yes", description: Number} # all three
`
  const right = wrong.replace(".com/'", ".com'").replace('"int"', '"integer"').replace('"yes"', 'true')
  writeFileSync(file, wrong)
  await run(t, ['validate', '--fix', file])
  assert.equal(readFileSync(file, 'utf8'), right)
})

test('--fix leaves a report for programs whole', async (t) => {
  for (const command of ['validate', 'lint-templates']) {
    const file = join(temporaryFolder(t), 'shop.yaml')
    writeFileSync(file, wrong)
    const { stdout, stderr } = await run(t, [command, '--fix', '--format', 'json', file])
    assert.ok(JSON.parse(stdout).findings)
    assert.match(stderr, /fixed: `\.querry` → `\.query`/)
  }
})

test('validate --fix mends what other formats call otherwise', async (t) => {
  const cwd = temporaryFolder(t)
  const foreign = `name: shop
routers:
  - {server: shop, prefix: /shop, cors: {allowOrigins: ["*"], allowCredentials: true}}
  - {server: files, prefix: /files}
servers: [{name: shop}]
mcpServers:
  - name: files
    type: stdio
    command: npx -y 'my files' --root=/srv # all of them
tools:
  - name: search
    description: Finds things
    method: GET
    url: "https://api.example.com/\${query}"
    params:
      - {name: query, in: path, required: true, description: What to find}
`
  const right = foreign
    .replace('allowCredentials: true', 'allowCredentials: false')
    .replace(
      "command: npx -y 'my files' --root=/srv",
      'command: npx\n    args: ["-y", "my files", "--root=/srv"]',
    )
    .replace('url:', 'endpoint:')
    .replace('${query}', '{{.Args.query}}')
    .replace('params:', 'args:')
    .replace('in: path', 'position: path')
  writeFileSync(join(cwd, 'shop.yaml'), foreign)
  const fixed = await run(t, ['validate', '--fix', '--skip', 'practice', 'shop.yaml'], { cwd })
  assert.equal(readFileSync(join(cwd, 'shop.yaml'), 'utf8'), right)
  assert.match(fixed.stdout, /1 file, nothing wrong\n$/)
  assert.equal(fixed.code, 0)
})
