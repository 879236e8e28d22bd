import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FileFault } from '../../src/import/clients/index.ts'
import { jsonFile } from '../../src/import/clients/json-file.ts'
import { tomlFile } from '../../src/import/clients/toml-file.ts'
import type { JsonObject } from '../../src/json/index.ts'

const ENTRY = { url: 'http://127.0.0.1:5235/shop/mcp' }
const SET = new Map([['shop', ENTRY]])
const NONE = new Map()

const faultOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof FileFault, String(error))
    return error.message
  }
  return assert.fail('nothing was thrown')
}

test('comments, order, indentation and commas of a JSON file stay', () => {
  const text = `// mine
{
\t"theme": "dark", // as at night
\t/* servers */
\t"context_servers": {
\t\t"other": { "url": "https://example.com/mcp" }, // keep
\t\t// the end
\t},
}
`
  const file = jsonFile('settings.json', text, 'context_servers')
  assert.equal(JSON.stringify([...file.entries]), '[["other",{"url":"https://example.com/mcp"}]]')
  const changed = file.change({ set: SET, remove: [] })
  const shop = '\t\t"shop": {\n\t\t\t"url": "http://127.0.0.1:5235/shop/mcp"\n\t\t},\n'
  assert.equal(changed, text.replace('// the end\n', `// the end\n${shop}`))
  const again = jsonFile('settings.json', changed, 'context_servers')
  assert.equal(again.change({ set: NONE, remove: ['shop'] }), text)
})

const EDITS: Record<string, [before: string, after: string]> = {
  'no server yet': [
    '{"a": 1}',
    `{"a": 1,\n  "s": {\n    "shop": {\n      "url": "${ENTRY.url}"\n    }\n  }\n}`,
  ],
  'an empty object': [
    '{\n    "s": {}\n}\n',
    `{\n    "s": {\n        "shop": {\n            "url": "${ENTRY.url}"\n        }\n    }\n}\n`,
  ],
  'only comments': [
    '{\n  "s": {\n    // none\n  }\n}',
    `{\n  "s": {\n    // none\n    "shop": {\n      "url": "${ENTRY.url}"\n    }\n  }\n}`,
  ],
  'no comma behind the last': [
    '{\n  "s": {\n    "x": 1 // one, two\n  } // s\n}',
    `{\n  "s": {\n    "x": 1, // one, two\n    "shop": {\n      "url": "${ENTRY.url}"\n    }\n  } // s\n}`,
  ],
  'the server itself': [
    '{"s": {"shop": [1], "x": 2}}',
    `{"s": {"shop": {\n  "url": "${ENTRY.url}"\n}, "x": 2}}`,
  ],
}

for (const [what, [before, after]] of Object.entries(EDITS))
  test(`a server is written into JSON with ${what}`, () => {
    assert.equal(jsonFile('f', before, 's').change({ set: SET, remove: [] }), after)
  })

test('a server is removed from JSON with its line and its comma', () => {
  const removed = (text: string) => jsonFile('f', text, 's').change({ set: NONE, remove: ['shop'] })
  assert.equal(removed('{"s": {"a": 1, "shop": 2}}'), '{"s": {"a": 1 }}')
  assert.equal(removed('{"s": {"shop": 2, "a": 1}}'), '{"s": { "a": 1}}')
  assert.equal(removed('{"s": {"shop": 2}}'), '{"s": {}}')
  assert.equal(removed('{\n  "s": {\n    "shop": 2,\n  }\n}'), '{\n  "s": {}\n}')
  assert.equal(removed('{"s": {\n  // mine\n  "shop": 2\n}}'), '{"s": {\n  // mine\n}}')
  assert.equal(
    removed('{"s": {\n  "a": 1, // a\n  // end\n  "shop": 2 // shop\n}}'),
    '{"s": {\n  "a": 1 // a\n  // end\n}}',
  )
})

test('a JSON file of comments alone keeps them', () => {
  const changed = (text: string) => jsonFile('f', text, 's').change({ set: SET, remove: [] })
  const servers = `{\n  "s": {\n    "shop": {\n      "url": "${ENTRY.url}"\n    }\n  }\n}\n`
  assert.equal(changed('// mine\n/* too */\n'), `// mine\n/* too */\n${servers}`)
  assert.equal(changed(' \n'), servers)
  for (const text of ['/* open', '// a\n}', '// a\n1'])
    assert.match(
      faultOf(() => changed(text)),
      /^f:\d:\d: (?:this is not JSON|the top level)|^f:\d:\d+: this is not JSON/,
    )
})

test('line ends and a byte order mark of a JSON file stay', () => {
  const changed = jsonFile('a.json', '\uFEFF{\r\n  "x": 1\r\n}\r\n', 'servers').change({
    set: SET,
    remove: [],
  })
  assert.ok(changed.startsWith('\uFEFF{\r\n  "x": 1,\r\n  "servers": {\r\n'), JSON.stringify(changed))
  assert.equal(changed.replaceAll('\r\n', '').includes('\n'), false)
})

test('an input is added once, and goes with the last server that names it', () => {
  const input = { type: 'promptString', id: 'plantgw-token', description: 'a', password: true }
  const own = { type: 'promptString', id: 'own' }
  const entry = (name: string) => ({
    url: `https://a/${name}/mcp`,
    headers: { Authorization: 'Bearer ${input:plantgw-token}' },
  })
  const text = JSON.stringify({ inputs: [own], servers: {} })
  const set = new Map([
    ['a', entry('a')],
    ['b', entry('b')],
  ])
  const both = jsonFile('f', text, 'servers').change({ set, remove: [], inputs: [input] })
  const twice = jsonFile('f', both, 'servers').change({ set, remove: [], inputs: [input] })
  assert.deepEqual(JSON.parse(twice).inputs, [own, input])
  const one = jsonFile('f', twice, 'servers').change({ set: NONE, remove: ['a'] })
  assert.deepEqual(JSON.parse(one).inputs, [own, input])
  const none = jsonFile('f', one, 'servers').change({ set: NONE, remove: ['b'] })
  assert.deepEqual(JSON.parse(none), { inputs: [own], servers: {} })
})

test('what is not JSON, or has something else where the servers are, is refused with its place', () => {
  const read = (text: string) => faultOf(() => jsonFile('mcp.json', text, 'mcpServers'))
  assert.equal(read('{\n  "a" 1\n}'), 'mcp.json:2:7: this is not JSON (colon expected); nothing was written')
  assert.match(read('[1]'), /^mcp\.json:1:1: the top level is not an object/)
  assert.match(read('{\n "mcpServers": []}'), /^mcp\.json:2:16: `mcpServers` is not an object/)
  assert.match(read('{} {}'), /^mcp\.json:1:4: this is not JSON/)
  assert.match(read(`{"a": ${'['.repeat(100_000)}`), /^mcp\.json is nested too deep|^mcp\.json:1:\d+: /)
})

const TOML = `# mine
model = "gpt" # a model
notify = ["a", # [not.a.table]
  "b"]
text = """
[mcp_servers.shop]
url = "no"
"""

[mcp_servers.other]
command = 'npx' # keep
args = ["x"]

# of the shop
[mcp_servers . "shop"]
url = "https://old.example.com/mcp"
[mcp_servers.shop.tools.buy]
approval_mode = "prompt"

# of the profile
[profiles.fast]
model = "mini"
`

test('tables of servers are replaced and removed, and all else in a TOML file stays', () => {
  const file = tomlFile('config.toml', TOML, 'mcp_servers')
  assert.deepEqual([...file.entries.keys()], ['other', 'shop'])
  assert.deepEqual(file.entries.get('shop'), { url: 'https://old.example.com/mcp' })
  const changed = file.change({ set: SET, remove: [] })
  const before = TOML.slice(0, TOML.indexOf('[mcp_servers . "shop"]'))
  const after = TOML.slice(TOML.indexOf('\n# of the profile'))
  assert.equal(changed, `${before}[mcp_servers.shop]\nurl = "http://127.0.0.1:5235/shop/mcp"\n${after}`)
  const again = tomlFile('config.toml', changed, 'mcp_servers')
  assert.deepEqual(again.entries.get('shop'), ENTRY)
  assert.equal(again.change({ set: NONE, remove: ['shop'] }), before + after)
})

test('a server goes with its arrays of tables, and its URL is found in every form of TOML', () => {
  const url = 'http://127.0.0.1:5235/shop/mcp'
  const file = (text: string) => tomlFile('f', text, 's')
  const tables = `[s.shop]\nurl = """${url}"""\n[[s.shop.x]]\na = 1\n[z]\nb = 2\n`
  assert.deepEqual(file(tables).entries.get('shop'), { url })
  assert.equal(file(tables).change({ set: NONE, remove: ['shop'] }), '[z]\nb = 2\n')
  for (const text of [`[s]\nshop = { url = "${url}" }\n`, `s.shop.on = true\ns.shop.url = '${url}'\n`]) {
    assert.deepEqual(file(text).entries.get('shop'), { url })
    assert.match(
      faultOf(() => file(text).change({ set: NONE, remove: ['shop'] })),
      /^f:[12]:1: plantgw only changes servers in tables/,
    )
  }
})

test('of a server with the same URL, only what plantgw writes changes in JSON', () => {
  const text = `{
  "s": {
    "shop": {
      // mine
      "url": "${ENTRY.url}", // here
      "headers": { "X-Mine": "1", "authorization": "Bearer old" },
      "disabled": true
    },
    "other": {}
  }
}
`
  const changed = (before: string, entry: JsonObject) =>
    jsonFile('f', before, 's').change({ set: new Map([['shop', entry]]), remove: [] })
  const headers = { Authorization: 'Bearer ${T}' }
  assert.equal(
    changed(text, { type: 'http', ...ENTRY, headers }),
    text
      .replace('Bearer old', 'Bearer ${T}')
      .replace('"disabled": true\n', '"disabled": true,\n      "type": "http"\n'),
  )
  assert.equal(changed(text, ENTRY), text)
  const bridge = { command: 'npx', args: ['-y', ENTRY.url] }
  assert.deepEqual(
    JSON.parse(changed(`{"s": {"shop": {"url": "${ENTRY.url}", "enabled": false}}}`, bridge)).s,
    { shop: { enabled: false, ...bridge } },
  )
  assert.deepEqual(
    JSON.parse(changed(JSON.stringify({ s: { shop: { type: 'stdio', ...bridge, timeout: 1 } } }), ENTRY)).s,
    { shop: { timeout: 1, ...ENTRY } },
  )
})

test('of a server with the same URL, only what plantgw writes changes in TOML', () => {
  const text = `[mcp_servers.shop] # mine
url = '${ENTRY.url}' # here
bearer_token_env_var = "OLD" # token
startup_timeout_sec = 20

[mcp_servers.shop.http_headers]
X-Mine = "1"

[profiles.fast]
model = "mini"`
  const changed = (before: string, entry: JsonObject) =>
    tomlFile('f', before, 'mcp_servers').change({ set: new Map([['shop', entry]]), remove: [] })
  const entry = { ...ENTRY, bearer_token_env_var: 'T' }
  assert.equal(changed(text, entry), text.replace('"OLD"', '"T"'))
  assert.equal(changed(text, ENTRY), text)
  const without = text.replace('bearer_token_env_var = "OLD" # token\n', '').replaceAll('\n', '\r\n')
  assert.equal(
    changed(without, entry),
    without.replace('sec = 20\r\n', 'sec = 20\r\nbearer_token_env_var = "T"\r\n'),
  )
  assert.equal(
    changed(`[mcp_servers.shop]\nurl = "${ENTRY.url}"`, entry),
    `[mcp_servers.shop]\nurl = "${ENTRY.url}"\nbearer_token_env_var = "T"\n`,
  )
})

test('repeated keys are refused with the place of the second, where the file is read', () => {
  const json = (text: string) => faultOf(() => jsonFile('f', text, 's').change({ set: SET, remove: [] }))
  assert.equal(json('{"s":{"a":{}},"s":{"b":{}}}'), 'f:1:15: the key `s` is repeated; nothing was written')
  assert.match(json('{"s":{\n"a":{},\n"a":{}}}'), /^f:3:1: the key `a` is repeated/)
  assert.match(json('{"s":{"shop":{"url":"a",\n"url":"b"}}}'), /^f:2:1: the key `url` is repeated/)
  assert.match(json('{"s":{"shop":{"headers":{"X":"a",\n"X":"b"}}}}'), /^f:2:1: the key `X` is repeated/)
  const elsewhere = '{"a": 1, "a": 2, "s": {}}'
  assert.ok(jsonFile('f', elsewhere, 's').change({ set: SET, remove: [] }).startsWith('{"a": 1, "a": 2, '))
  const toml = (text: string) => faultOf(() => tomlFile('f', text, 's'))
  assert.match(toml('[s.a]\n[b]\n[s."a"]\n'), /^f:3:1: `s\.a` is repeated; nothing was written/)
  assert.match(toml('[s.a]\nurl = "x"\nurl = "y"\n'), /^f:3:1: `s\.a\.url` is repeated/)
})

test('servers that are no tables are not touched, and what is not TOML is refused with its place', () => {
  const inline = 'a = 1\nmcp_servers = { shop = { url = "x" } }\n'
  const change = (text: string) => () =>
    tomlFile('c.toml', text, 'mcp_servers').change({ set: SET, remove: [] })
  assert.match(
    faultOf(change(inline)),
    /^c\.toml:2:1: plantgw only changes servers in tables such as `\[mcp_serv/,
  )
  assert.match(faultOf(change('[mcp_servers]\nshop.url = "x"\n')), /^c\.toml:2:1: /)
  const elsewhere = '[mcp_servers]\nother = { url = "x" }\n'
  assert.ok(change(elsewhere)().startsWith(elsewhere))
  const faults: Record<string, RegExp> = {
    'a = "x\n': /^c\.toml:1:5: this is not TOML \(a string has no end\)/,
    'a = 1\nb\n': /^c\.toml:2:2: this is not TOML \(`=` is missing\)/,
    '[a\n': /^c\.toml:1:3: .*`\]` is missing/,
    'a = [1,\n': /a bracket has no counterpart/,
    'a =\nb = 1\n': /^c\.toml:1:4: .*a value is missing/,
    '[a] b = 1\n': /^c\.toml:1:5: .*a line break is missing/,
    '= 1\n': /a key is missing/,
  }
  for (const [text, expected] of Object.entries(faults)) assert.match(faultOf(change(text)), expected)
})

test('a new file of either form holds the servers alone', () => {
  assert.deepEqual(JSON.parse(jsonFile('f', '', 'mcpServers').change({ set: SET, remove: [] })), {
    mcpServers: { shop: ENTRY },
  })
  assert.equal(
    tomlFile('f', '', 'mcp_servers').change({
      set: new Map([['a.b', { ...ENTRY, bearer_token_env_var: 'T' }]]),
      remove: [],
    }),
    '[mcp_servers."a.b"]\nurl = "http://127.0.0.1:5235/shop/mcp"\nbearer_token_env_var = "T"\n',
  )
})

test('`inputs` that nothing can be added to are refused', () => {
  const file = jsonFile('mcp.json', '{"servers": {}, "inputs": {"a": 1}}', 'servers')
  const change = { set: SET, remove: [], inputs: [{ type: 'promptString', id: 'token' }] }
  assert.equal(
    faultOf(() => file.change(change)),
    'mcp.json:1:27: `inputs` is not an array; nothing was written',
  )
})
