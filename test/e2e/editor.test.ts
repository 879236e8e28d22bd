import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readConfiguration, readSettings } from '../../src/checks/index.ts'
import { type LanguageServer, startLanguageServer } from '../support/language-server.ts'
import { ROOT, run, temporaryFolder } from '../support/process.ts'

const MODELINE = `# yaml-language-server: $schema=${ROOT}schemas/configuration.schema.json\n`

test('plantgw schema prints what lies in schemas/', async (t) => {
  for (const name of ['configuration', 'settings', 'lint']) {
    const { code, stdout } = await run(t, ['schema', name])
    assert.equal(code, 0)
    const file = readFileSync(join(ROOT, `schemas/${name}.schema.json`), 'utf8')
    // What is printed needs no other file: shared definitions stand in it.
    const { $defs: own = {}, ...schema } = JSON.parse(file.replaceAll('common.schema.json#', '#'))
    const { $defs = {}, ...printed } = JSON.parse(stdout)
    assert.deepEqual(printed, schema)
    for (const key of Object.keys(own)) assert.deepEqual($defs[key], own[key])
    for (const [, key] of stdout.matchAll(/"\$ref": "#\/\$defs\/(\w+)"/g)) assert.ok($defs[key!], key)
    assert.doesNotMatch(stdout, /common\.schema/)
  }
  assert.equal((await run(t, ['schema'])).stdout, (await run(t, ['schema', 'configuration'])).stdout)
  const { code, stderr } = await run(t, ['schema', 'setings'])
  assert.equal(code, 2)
  assert.match(stderr, /configuration, settings, lint/)
})

describe('yaml-language-server', () => {
  let server: LanguageServer
  let close: () => unknown = () => {}
  before(async () => {
    server = await startLanguageServer({
      after(run) {
        close = run
      },
    })
  })
  after(() => close())

  /** Completions at the place that `‸` marks. */
  async function complete(name: string, text: string) {
    const before = text.slice(0, text.indexOf('‸')).split('\n')
    const file = join(ROOT, 'examples', `${name}.yaml`)
    await server.open(file, text.replace('‸', ''))
    const items = await server.complete(file, before.length - 1, before.at(-1)!.length)
    return { items, labels: items.map(({ label }) => label) }
  }

  test('the examples have a schema and no faults', async () => {
    const folder = join(ROOT, 'examples/configs')
    const files = [
      ...readdirSync(folder).map((name) => join(folder, name)),
      join(ROOT, 'examples/plantgw.yaml'),
    ]
    for (const file of files) {
      const text = readFileSync(file, 'utf8')
      assert.match(text, /^# yaml-language-server: \$schema=/)
      assert.deepEqual(await server.open(file, text), [], file)
      // A fault is seen, so the schema was found.
      const found = await server.open(file.replace('.yaml', '-2.yaml'), `${text}\nnotAKey: 1\n`)
      assert.deepEqual(
        found.map(({ message }) => message),
        ['Property notAKey is not allowed.'],
      )
    }
  })

  test('faults are told at their place', async () => {
    const text = `${MODELINE}name: a\nrouters:\n  - {server: a, prefx: /a}\ntools:\n  - {name: t, endpoint: x, args: [{name: n, position: body, type: strin}]}\n`
    const found = await server.open(join(ROOT, 'examples/faults.yaml'), text)
    assert.deepEqual(
      found.map(({ message, range }) => [range.start.line, message]),
      [
        [3, 'Missing property "prefix".'],
        [3, 'Property prefx is not allowed.'],
        [
          5,
          'Value is not accepted. Valid values: "string", "number", "integer", "boolean", "array", "object".',
        ],
      ],
    )
  })

  test('keys, choices and descriptions are completed', async () => {
    const keys = await complete('keys', `${MODELINE}name: a\nmcpServers:\n  - name: m\n    ‸\n`)
    for (const key of ['type', 'command', 'url', 'isolation', 'toolOverrides'])
      assert.ok(keys.labels.includes(key), key)
    const described = keys.items.find(({ label }) => label === 'isolation')!.documentation
    assert.match(JSON.stringify(described), /Which client sessions share a connection or process/)
    const position = `${MODELINE}name: a\ntools:\n  - name: t\n    endpoint: x\n    args:\n      - name: n\n        position: ‸\n`
    const choices = await complete('choices', position)
    for (const value of ['header', 'query', 'path', 'body', 'form-data'])
      assert.ok(choices.labels.includes(value))
    const settings = MODELINE.replace('configuration', 'settings')
    const levels = await complete('levels', `${settings}logger:\n  level: ‸\n`)
    for (const value of ['trace', 'debug', 'info', 'warn', 'error', 'silent'])
      assert.ok(levels.labels.includes(value), value)
    const file = join(ROOT, 'examples/hover.yaml')
    await server.open(file, `${MODELINE}name: a\ntenant: b\n`)
    assert.match(await server.hover(file, 2, 2), /The tenant that the configuration belongs to/)
  })

  /** A snippet with the values that it suggests. */
  const expand = (text: string) =>
    text
      .replace(/\$\{(\d+)\|([^,|]*)[^|]*\|\}/g, '$2')
      .replace(/\$\{\d+:([^}]*)\}/g, '$1')
      .replace(/\\([$}\\])/g, '$1')

  const PLACES: [name: string, text: string, labels: string[]][] = [
    ['root', '‸', ['HTTP service', 'MCP server behind the gateway']],
    ['router', 'name: a\nrouters:\n  - ‸', ['router']],
    ['server', 'name: a\nservers:\n  - ‸', ['server']],
    ['tool', 'name: a\ntools:\n  - ‸', ['tool that reads', 'tool that writes']],
    [
      'arg',
      'name: a\ntools:\n  - name: t\n    endpoint: http://a/b\n    args:\n      - ‸',
      ['query argument', 'body argument'],
    ],
    ['mcp', 'name: a\nmcpServers:\n  - ‸', ['stdio server', 'streamable HTTP server', 'SSE server']],
    ['prompt', 'name: a\nprompts:\n  - ‸', ['prompt']],
  ]
  for (const [name, place, labels] of PLACES)
    test(`snippets are sound where they are offered: ${name}`, async () => {
      const { items } = await complete(`snippet-${name}`, `${MODELINE}${place}\n`)
      for (const label of labels) {
        const snippet = items.find((one) => one.label === label)
        assert.ok(snippet?.insertText, `${label} among ${items.map((one) => one.label)}`)
        const column = place.slice(place.lastIndexOf('\n') + 1).indexOf('‸')
        // Editors indent the lines of a snippet as deep as the line it goes into.
        const deep = ' '.repeat(column < 2 ? 0 : column - 2)
        const text = place.replace('‸', expand(snippet.insertText).replaceAll('\n', `\n${deep}`))
        const { findings, configuration } = readConfiguration({ file: 'a.yaml', text }, {})
        const errors = findings.filter(({ severity }) => severity === 'error')
        assert.ok(configuration, text)
        assert.deepEqual(errors, [], text)
      }
    })

  test('snippets are sound where they are offered: settings', async () => {
    const head = MODELINE.replace('configuration', 'settings')
    const { items } = await complete('snippet-settings', `${head}storage:\n  ‸\n`)
    for (const label of ['files', 'database']) {
      const snippet = items.find((one) => one.label === label)!
      const text = `storage:\n  ${expand(snippet.insertText!).replaceAll('\n', '\n  ')}\n`
      const { settings, findings } = readSettings({ file: 'plantgw.yaml', text }, {}, {})
      assert.ok(settings, text + JSON.stringify(findings))
    }
  })

  test('a schema that was printed into the folder serves as well', async (t) => {
    const folder = temporaryFolder(t)
    const { stdout } = await run(t, ['schema'])
    writeFileSync(join(folder, 'schema.json'), stdout)
    const text = '# yaml-language-server: $schema=schema.json\nname: a\nroutes: []\n'
    const found = await server.open(join(folder, 'a.yaml'), text)
    assert.deepEqual(
      found.map(({ message }) => message),
      ['Property routes is not allowed.'],
    )
  })
})
