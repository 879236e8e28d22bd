import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run, temporaryFolder } from '../support/process.ts'

const LONG = `name: shop
routers:
  - server: shop
    prefix: /shop
servers:
  - name: shop # the server
    config: { url: "https://api.example.com/v1", token: "\${TOKEN:x}" }
tools:
  - name: list_orders
    description: Lists orders
    endpoint: "{{.Config.url}}/orders"
    headers:
      Authorization: "Bearer {{.Config.token}}"
  - name: get_order
    description: Gets an order
    endpoint: "{{.Config.url}}/orders/{{.Args.id}}" # one
    headers:
      Authorization: "Bearer {{.Config.token}}"
      X-Part: all
    args:
      - { name: id, position: path, required: true, description: Number of the order }
  - name: list_teams
    description: Lists teams
    endpoint: "{{.Config.url}}/teams?all=1"
    headers: { Authorization: "Bearer {{.Config.token}}" }
`
const SHORT = `name: shop
prefix: /shop
servers:
  - baseUrl: "{{.Config.url}}"
    headers: { Authorization: "Bearer {{.Config.token}}" }
    name: shop # the server
    config: { url: "https://api.example.com/v1", token: "\${TOKEN:x}" }
tools:
  - name: list_orders
    description: Lists orders
    endpoint: "/orders"
  - name: get_order
    description: Gets an order
    endpoint: "/orders/{{.Args.id}}" # one
    headers:
      X-Part: all
    args:
      - { name: id, position: path, required: true, description: Number of the order }
  - name: list_teams
    description: Lists teams
    endpoint: "/teams?all=1"
`
const ORIGINS = LONG.replaceAll('"{{.Config.url}}', '"https://api.example.com/v1')
/** Files that `--fix` leaves as they are, although they repeat themselves or nearly do. */
const LEFT: [why: string, text: string][] = [
  ['two tools', LONG.slice(0, LONG.indexOf('  - name: list_teams'))],
  [
    'a tool of another host',
    ORIGINS.replace('https://api.example.com/v1/teams', 'https://teams.example.com'),
  ],
  ['a comment beside a header', LONG.replace('token}}"\n', 'token}}" # of ours\n')],
]

test('validate --fix moves what tools repeat to their server; requests stay the same', async (t) => {
  const cwd = temporaryFolder(t)
  const file = join(cwd, 'shop.yaml')
  const sent = async () =>
    Promise.all(
      [['list_orders'], ['get_order', 'id=a/b'], ['get_order', 'id=7'], ['list_teams']].map(async (call) => {
        const { stdout, stderr } = await run(t, ['render', 'shop.yaml', ...call, '--show-secrets'], { cwd })
        return [stdout.split('\n').sort(), stderr.replace(/\d+:\d+: /, '')]
      }),
    )
  for (const [text, base] of [
    [LONG, '"{{.Config.url}}"'],
    [ORIGINS, 'https://api.example.com/v1'],
  ] as const) {
    writeFileSync(file, text)
    const before = await sent()
    const found = await run(t, ['validate', 'shop.yaml'], { cwd })
    assert.match(
      found.stdout,
      /info: all 3 tools have endpoints that begin with .*, and send the same `Authorization` \[long-form\]/,
    )
    const fixed = await run(t, ['validate', '--fix', 'shop.yaml'], { cwd })
    assert.match(
      fixed.stdout,
      /^shop\.yaml:2:1: fixed: all 3 tools .*\[long-form\]\n1 file, nothing wrong\n$/,
    )
    assert.equal(readFileSync(file, 'utf8'), SHORT.replace('"{{.Config.url}}"', base))
    assert.deepEqual(await sent(), before)
  }
  for (const [why, text] of LEFT) {
    writeFileSync(file, text)
    await run(t, ['validate', '--fix', 'shop.yaml'], { cwd })
    assert.equal(readFileSync(file, 'utf8'), text, why)
  }
})
