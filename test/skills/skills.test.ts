import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'
import { check } from '../../src/build/check-configurations.ts'
import { DEFAULT_LIMITS } from '../../src/config/model.ts'
import { gatewayHere } from '../support/gateway.ts'
import { temporaryFolder } from '../support/process.ts'
import type { Loose } from '../support/wire.ts'

const EXTENSION = 'io.modelcontextprotocol/skills'
const info = { name: 'test', version: '1' }
const any = z.looseObject({})

const WATERING = `---
name: watering
description: "Waters plants: use it when a plant looks dry"
license: MIT
metadata: {version: "1.0"}
---

# Watering

Look the plant up in references/plants.md.
`

/** Writes files below a folder of skills, by path. */
function write(folder: string, files: Record<string, string | Buffer>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

function garden(skills: string, more: object = {}) {
  return {
    name: 'garden',
    routers: [{ server: 'garden', prefix: '/garden' }],
    servers: [{ name: 'garden', description: 'Plants' }],
    tools: [],
    prompts: [{ name: 'hello', promptResponse: [{ role: 'user', content: { text: 'Hello' } }] }],
    skills,
    ...more,
  }
}

const FILES = {
  'watering/SKILL.md': WATERING,
  'watering/references/plants.md': 'Fern: every day\n',
  'watering/photo one.png': Buffer.from([0x89, 0x50, 0xff, 0xfe]),
  'acme/pruning/SKILL.md': '---\nname: pruning\ndescription: Cuts plants\n---\nCut.',
  'notes.txt': 'of no skill',
  '.git/config': 'hidden',
}

async function modern(t: TestContext, base: string, capabilities: object = {}) {
  const client = new ModernClient(info, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    capabilities: capabilities as never,
  })
  await client.connect(new ModernHttp(new URL(`${base}/garden/mcp`)))
  t.after(() => client.close())
  const ask = (method: string, params: Loose = {}) =>
    client.request({ method, params } as never, any as never) as Promise<Loose>
  return { client, ask }
}

const sha256 = (bytes: string | Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

test('a client of the skills extension lists, gets and reads skills', async (t) => {
  const { base } = await gatewayHere(t, garden(write(temporaryFolder(t), FILES)))
  const { client, ask } = await modern(t, base, { extensions: { [EXTENSION]: {} } })
  const capabilities = client.getServerCapabilities() as Loose
  assert.deepEqual(capabilities.extensions, { [EXTENSION]: {} })
  assert.ok(capabilities.resources)

  const listed = await ask('skills/list')
  assert.equal(typeof listed.ttlMs, 'number')
  assert.equal(listed.cacheScope, 'public')
  const [pruning, watering] = listed.skills
  assert.equal(listed.skills.length, 2)
  assert.equal(pruning.uri, 'skill://acme/pruning/SKILL.md')
  assert.deepEqual(watering.frontmatter, {
    name: 'watering',
    description: 'Waters plants: use it when a plant looks dry',
    license: 'MIT',
    metadata: { version: '1.0' },
  })
  assert.deepEqual(watering.resources, [
    { uri: 'skill://watering/SKILL.md', digest: sha256(WATERING), size: WATERING.length },
    { uri: 'skill://watering/photo%20one.png', digest: sha256(FILES['watering/photo one.png']), size: 4 },
    {
      uri: 'skill://watering/references/plants.md',
      digest: sha256(FILES['watering/references/plants.md']),
      size: 16,
    },
  ])
  assert.deepEqual((await ask('skills/get', { uri: watering.uri })).skill, watering)
  await assert.rejects(ask('skills/get', { uri: 'skill://watering/references/plants.md' }), { code: -32602 })

  const { contents } = await client.readResource({ uri: 'skill://watering/SKILL.md' })
  assert.deepEqual(contents, [
    { uri: 'skill://watering/SKILL.md', mimeType: 'text/markdown', text: WATERING },
  ])
  const photo = await client.readResource({ uri: 'skill://watering/photo%20one.png' })
  assert.deepEqual(photo.contents, [
    { uri: 'skill://watering/photo%20one.png', mimeType: 'image/png', blob: 'iVD//g==' },
  ])
  for (const uri of ['skill://notes.txt', 'skill://.git/config', 'skill://watering/../notes.txt'])
    await assert.rejects(client.readResource({ uri }), { code: -32602 })
  const { resources } = await client.listResources()
  assert.deepEqual(
    resources.map(({ uri, name }) => [uri, name]),
    [
      ['skill://acme/pruning/SKILL.md', 'pruning'],
      ['skill://watering/SKILL.md', 'watering'],
      ['skill://watering/photo%20one.png', 'photo one.png'],
      ['skill://watering/references/plants.md', 'plants.md'],
    ],
  )
  // It has them as skills.
  const { prompts, ...hints } = await client.listPrompts()
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ['hello'],
  )
  assert.equal((hints as Loose).cacheScope, 'private')
})

test('other clients get skills as prompts', async (t) => {
  const { base } = await gatewayHere(t, garden(write(temporaryFolder(t), FILES)))
  const old = new Client(info)
  await old.connect(new StreamableHTTPClientTransport(new URL(`${base}/garden/mcp`)) as never)
  t.after(() => old.close())
  const { client } = await modern(t, base)
  for (const one of [old, client]) {
    const { prompts } = await one.listPrompts()
    assert.deepEqual(
      prompts.map(({ name, description }) => [name, description]),
      [
        ['hello', undefined],
        ['pruning', 'Cuts plants'],
        ['watering', 'Waters plants: use it when a plant looks dry'],
      ],
    )
    const { messages } = await one.getPrompt({ name: 'watering' })
    assert.deepEqual(messages, [
      {
        role: 'user',
        content: {
          type: 'text',
          text: '# Watering\n\nLook the plant up in references/plants.md.\n\nRelative paths in these instructions are resources below skill://watering/',
        },
      },
    ])
    assert.deepEqual((await one.getPrompt({ name: 'pruning' })).messages[0]!.content, {
      type: 'text',
      text: 'Cut.',
    })
  }
  // The methods are there for whoever calls them.
  const { skills } = (await old.request(
    { method: 'skills/list', params: {} } as never,
    any as never,
  )) as Loose
  assert.equal(skills.length, 2)
  await assert.rejects(old.readResource({ uri: 'skill://watering/none.md' }), { code: -32002 })
})

test('rules decide which skills a caller sees', async (t) => {
  const skills = write(temporaryFolder(t), FILES)
  const auth = { type: 'bearer', tokens: [{ token: 'tok', caller: 'agent' }] }
  const authorize = {
    rules: [{ callers: ['agent'], resources: ['skill://watering/*'], prompts: ['watering'] }],
  }
  const routers = [{ server: 'garden', prefix: '/garden', auth, authorize }]
  const { base } = await gatewayHere(t, garden(skills, { routers }))
  const client = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const requestInit = { headers: { authorization: 'Bearer tok' } }
  await client.connect(new ModernHttp(new URL(`${base}/garden/mcp`), { requestInit }))
  t.after(() => client.close())
  const ask = (method: string, params: Loose = {}) =>
    client.request({ method, params } as never, any as never) as Promise<Loose>
  const { skills: seen, cacheScope } = await ask('skills/list')
  assert.deepEqual(
    seen.map(({ uri }: Loose) => uri),
    ['skill://watering/SKILL.md'],
  )
  assert.equal(cacheScope, 'private')
  await assert.rejects(ask('skills/get', { uri: 'skill://acme/pruning/SKILL.md' }), { code: -32602 })
  assert.deepEqual(
    (await client.listPrompts()).prompts.map(({ name }) => name),
    ['watering'],
  )
})

test('a reload serves what the folder holds now, and tells clients', async (t) => {
  const folder = write(temporaryFolder(t), FILES)
  const configuration = garden(folder)
  const { base, change } = await gatewayHere(t, configuration)
  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/garden/mcp`)) as never)
  t.after(() => client.close())
  const changed = new Promise<void>((resolve) => {
    client.fallbackNotificationHandler = async ({ method }) => {
      if (method === 'notifications/resources/list_changed') resolve()
    }
  })
  assert.deepEqual((await change(configuration)).changed, [])
  // The same number of bytes.
  write(folder, { 'watering/references/plants.md': 'Fern: each week\n' })
  assert.deepEqual((await change(configuration)).changed, ['garden'])
  await changed
  const { contents } = await client.readResource({ uri: 'skill://watering/references/plants.md' })
  assert.equal((contents[0] as { text: string }).text, 'Fern: each week\n')
  // What is wrong keeps what was right.
  write(folder, { 'watering/SKILL.md': 'no front matter' })
  const { refused } = await change(configuration)
  assert.deepEqual(refused, ['garden'])
  assert.equal((await client.getPrompt({ name: 'watering' })).messages.length, 1)
})

test('skills of MCP servers are passed through, and those of several are one list', async (t) => {
  const behind = await gatewayHere(t, garden(write(temporaryFolder(t), FILES)))
  const more = await gatewayHere(t, garden(write(temporaryFolder(t), { 'a/SKILL.md': matter('a') })))
  const server = (name: string, base: string) => ({
    name,
    type: 'streamable-http',
    url: `${base}/garden/mcp`,
  })
  const mcpServers = [server('one', behind.base), server('other', more.base)]
  for (const [names, uris] of [
    ['one', ['skill://acme/pruning/SKILL.md', 'skill://watering/SKILL.md']],
    [
      ['one', 'other'],
      ['skill://acme/pruning/SKILL.md', 'skill://watering/SKILL.md', 'skill://a/SKILL.md'],
    ],
  ] as const) {
    const routers = [{ server: names, prefix: '/garden' }]
    const { base } = await gatewayHere(t, { name: 'garden', routers, mcpServers })
    const { client, ask } = await modern(t, base)
    const { extensions } = client.getServerCapabilities() as Loose
    assert.deepEqual(extensions, { [EXTENSION]: {} })
    const { skills } = await ask('skills/list')
    assert.deepEqual(
      skills.map(({ uri }: Loose) => uri),
      uris,
    )
    for (const uri of uris) {
      assert.equal((await ask('skills/get', { uri })).skill.uri, uri)
      assert.equal((await client.readResource({ uri })).contents[0]!.uri, uri)
    }
    const { prompts } = await client.listPrompts()
    assert.equal(prompts.length, names === 'one' ? 3 : 5)
  }
})

/** What `validate` says of skills beside a configuration, each as `file line:column code message`. */
async function findingsOf(
  t: TestContext,
  files: Record<string, string | Buffer>,
  { more = {}, after = () => {} }: { more?: object; after?: (folder: string) => void } = {},
): Promise<string[]> {
  const folder = temporaryFolder(t)
  write(join(folder, 'skills'), files)
  after(join(folder, 'skills'))
  writeFileSync(join(folder, 'garden.yaml'), JSON.stringify(garden('skills', more)))
  const { findings } = await check([folder], { env: {} })
  return findings.map(({ file, range, code, message }) => {
    const at = range ? ` ${range.start.line}:${range.start.column}` : ''
    return `${file.slice(folder.length + 1)}${at} ${code} ${message.replaceAll(folder, '')}`
  })
}

const matter = (name: string, rest = 'description: d') => `---\nname: ${name}\n${rest}\n---\ntext`

test('validate finds what is wrong with skills, at its place', async (t) => {
  assert.deepEqual(await findingsOf(t, { 'a/SKILL.md': matter('a') }), [])
  const faults: [files: Record<string, string | Buffer>, expected: string[]][] = [
    [
      { 'a/SKILL.md': 'text' },
      ['skills/a/SKILL.md 1:1 skill-front-matter the file does not begin with front matter'],
    ],
    [
      { 'a/SKILL.md': '---\nlicense: MIT\n---\n' },
      [
        'skills/a/SKILL.md 1:1 skill-front-matter `description` is missing',
        'skills/a/SKILL.md 1:1 skill-front-matter `name` is missing',
      ],
    ],
    [
      { 'a/SKILL.md': matter('b') },
      ['skills/a/SKILL.md 2:7 skill-name the skill `b` is in a folder of another name, `a`'],
    ],
    [{ 'A/SKILL.md': matter('A') }, ['skills/A/SKILL.md 2:7 skill-name `A` is not a name of a skill']],
    [
      { 'a/SKILL.md': matter('a', `description: ${'d'.repeat(1025)}`) },
      ['skills/a/SKILL.md 3:14 skill-front-matter `description` has more than 1024 characters'],
    ],
    [
      { 'a/SKILL.md': matter('a', 'description: d\nx: .inf') },
      ['skills/a/SKILL.md 2:1 skill-front-matter the front matter has a number that JSON does not have'],
    ],
    [
      { 'a/SKILL.md': matter('a', 'description: &d d\nx: *d') },
      ['skills/a/SKILL.md 4:4 skill-front-matter the front matter has a YAML alias'],
    ],
    [
      { 'a/SKILL.md': matter('a', 'description: [') },
      [
        'skills/a/SKILL.md 4:1 skill-front-matter the front matter is not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
      ],
    ],
    [{ 'SKILL.md': matter('skills') }, ['skills/SKILL.md skill-folder the skill has no folder of its own']],
    [
      { 'a/skill.md': matter('a'), 'b/SKILL.md': matter('b'), 'b/skill.md': '' },
      ['skills/a/skill.md skill-file the file is named `skill.md`, so it is not served as a skill'],
    ],
    [{ 'notes.txt': '' }, ['skills skill-folder the folder contains no skills']],
    [
      { 'a/SKILL.md': matter('a'), 'x/a/SKILL.md': matter('a') },
      ['skills/x/a/SKILL.md skill-name there are two skills `a`'],
    ],
    [{ 'a/SKILL.md': Buffer.from([0xff, 0xfe]) }, ['skills/a/SKILL.md skill-file the file is UTF-16 text']],
    [
      { 'a/SKILL.md': matter('a'), 'a/big': Buffer.alloc(16 * 1024 * 1024 + 1) },
      ['skills/a/big skill-file the file is too large: a skill may have 16 MiB, all of a folder 64 MiB'],
    ],
    [
      {
        'a/SKILL.md': matter('a'),
        ...Object.fromEntries(Array.from({ length: 512 }, (_, i) => [`a/${i}`, ''])),
      },
      ['skills/a/SKILL.md skill-file the skill has more than 512 files or 16 MiB'],
    ],
    [
      { 'hello/SKILL.md': matter('hello') },
      ['garden.yaml 1:233 duplicate-name the skill `hello` has the name of a prompt'],
    ],
  ]
  for (const [files, expected] of faults) assert.deepEqual(await findingsOf(t, files), expected)
  const none = { more: { skills: 'none' } }
  assert.deepEqual(await findingsOf(t, {}, none), ['none skill-folder the folder of `skills` does not exist'])
  const unused = { more: { servers: [], routers: [] } }
  const told = await findingsOf(t, { 'a/SKILL.md': matter('a') }, unused)
  assert.ok(
    told.some((line) => line.includes('key-without-effect `skills` needs `servers`')),
    String(told),
  )
})

test('front matter is bounded in depth, and may have the line ends and the mark of Windows', async (t) => {
  const deep = matter('a', `description: d\nx: ${'['.repeat(7_000)}${']'.repeat(7_000)}`)
  const [said, ...others] = await findingsOf(t, { 'a/SKILL.md': deep })
  assert.match(said!, /^skills\/a\/SKILL\.md 4:\d+ skill-front-matter the front matter is nested too deeply$/)
  assert.deepEqual(others, [])
  const windows = `\uFEFF${matter('a').replaceAll('\n', '\r\n')}`
  assert.deepEqual(await findingsOf(t, { 'a/SKILL.md': windows }), [])
  const { base } = await gatewayHere(t, garden(write(temporaryFolder(t), { 'a/SKILL.md': windows })))
  const { client, ask } = await modern(t, base)
  assert.deepEqual((await ask('skills/list')).skills[0].resources[0].digest, sha256(windows))
  const { messages } = await client.getPrompt({ name: 'a' })
  assert.deepEqual(messages[0]!.content, { type: 'text', text: 'text' })
})

test('links lead to files within the folder, and nowhere else', async (t) => {
  const files = { 'a/SKILL.md': matter('a'), 'shared/one.md': 'one' }
  const secret = join(write(temporaryFolder(t), { 'secret.txt': 's' }), 'secret.txt')
  const link = (target: string) => ({
    after: (folder: string) => symlinkSync(target, join(folder, 'a/link')),
  })
  assert.deepEqual(await findingsOf(t, files, link('../shared/one.md')), [])
  const refused = ['skills/a/link skill-file the link does not lead to a file within the folder']
  for (const target of [secret, '../../../garden.yaml', '../shared', '..', 'nowhere'])
    assert.deepEqual(await findingsOf(t, files, link(target)), refused, target)
})

test('a configuration of a tenant has no skills read', async (t) => {
  const folder = write(temporaryFolder(t), FILES)
  const text = JSON.stringify(
    garden(folder, { tenant: 'green', routers: [{ server: 'garden', prefix: '/green' }] }),
  )
  const nothing = { tokens: [], env: [], stdio: false, commands: [], notifier: false }
  const tenants = [{ name: 'green', prefix: '/green', ...nothing }]
  const settings = { tenants, host: '127.0.0.1', limits: DEFAULT_LIMITS } as unknown as NonNullable<
    Parameters<typeof check>[1]['settings']
  >
  const { findings } = await check(['-'], { env: {}, stdin: () => Buffer.from(text), settings })
  assert.deepEqual(
    findings.filter(({ severity }) => severity === 'error').map(({ code }) => code),
    ['tenant-file'],
  )
})
