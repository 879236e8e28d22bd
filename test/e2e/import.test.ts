import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { document, operation } from '../openapi/imported.ts'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'

async function served(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  const port = await listening(t, server)
  return `http://127.0.0.1:${port}`
}

const many = () => {
  const paths = Array.from({ length: 200 }, (_, i) => [
    `/t${i % 4}/${i}`,
    {
      get: {
        operationId: `op${i}`,
        tags: [`t${i % 4}`],
        summary: `Number ${i}: ${'long words '.repeat(40)}`,
      },
    },
  ])
  return document(Object.fromEntries(paths))
}

test('one configuration goes to standard output, and is sound; what was done to standard error', async (t) => {
  const cwd = temporaryFolder(t)
  const paths = {
    '/a': {
      get: { operationId: 'a', summary: 'Gets a thing' },
      trace: {},
      post: { operationId: 'b', requestBody: { content: { 'multipart/mixed': {} } } },
    },
  }
  writeFileSync(join(cwd, 'shop.json'), JSON.stringify(document(paths)))
  const { code, stdout, stderr } = await run(t, ['import', 'openapi', 'shop.json'], { cwd })
  assert.equal(code, 0, stderr)
  assert.equal(
    stderr.replace(/ \S+ \S+plantgw\.js /g, ' plantgw '),
    `shop.json: 3 operations, 1 imported, 2 skipped
  1 skipped: its body is multipart/mixed
      POST /a
  1 skipped: the method TRACE cannot be called
      TRACE /a

Next, with this file as shop.yaml:
  plantgw validate shop.yaml
  plantgw serve shop.yaml
`,
  )
  const sound = await run(t, ['validate', '-'], { cwd, input: stdout })
  assert.deepEqual([sound.code, sound.stdout], [0, '1 file, nothing wrong\n'])
})

test('-o writes the files, all or none; --force overwrites them', async (t) => {
  const cwd = temporaryFolder(t)
  const input = JSON.stringify(many())
  const several = await run(t, ['import', 'openapi', '-'], { cwd, input })
  assert.equal(several.code, 2)
  assert.match(
    several.stderr,
    /200 tools are too many .* 4 configurations:\n {2}\/shop\/t0 {2}50 tools\n[\s\S]*-o, .*--tag/,
  )
  assert.equal(several.stdout, '')
  const first = await run(t, ['import', 'openapi', '-', '-o', 'configs'], { cwd, input })
  assert.equal(first.code, 0, first.stderr)
  assert.match(
    first.stdout,
    /^-: 200 operations, 200 imported, 0 skipped\n\nWritten:\n {2}configs\/shop-t0\.yaml {2}\/shop\/t0 {2}50 tools\n/,
  )
  const sound = await run(t, ['validate', 'configs'], { cwd })
  assert.deepEqual([sound.code, sound.stdout], [0, '4 files, nothing wrong\n'])
  writeFileSync(join(cwd, 'configs/shop-t1.yaml'), 'mine')
  const again = await run(t, ['import', 'openapi', '-', '-o', 'configs', '--tag', 't1'], { cwd, input })
  assert.equal(again.code, 0, again.stderr)
  assert.ok(existsSync(join(cwd, 'configs/shop.yaml')))
  const taken = await run(t, ['import', 'openapi', '-', '-o', 'configs'], { cwd, input })
  assert.equal(taken.code, 2)
  assert.match(taken.stderr, /shop-t1\.yaml.* already exist; nothing was written/)
  assert.equal(readFileSync(join(cwd, 'configs/shop-t1.yaml'), 'utf8'), 'mine')
  assert.equal((await run(t, ['import', 'openapi', '-', '-o', 'configs', '--force'], { cwd, input })).code, 0)
  assert.notEqual(readFileSync(join(cwd, 'configs/shop-t1.yaml'), 'utf8'), 'mine')
})

test('--name, --prefix, --server, --include, --exclude and --format json', async (t) => {
  const cwd = temporaryFolder(t)
  const flags = [
    ...'--name zoo --prefix /my/zoo --server https://zoo.example.com --include ^op1 --exclude 9$'.split(' '),
    ...['--header', 'X-Team: zoo'],
  ]
  const { code, stdout } = await run(t, ['import', 'openapi', '-', '--format', 'json', ...flags], {
    cwd,
    input: JSON.stringify(many()),
  })
  assert.equal(code, 0)
  const { configurations, ...counts } = JSON.parse(stdout)
  const { skipped, leftOut, notes, variables, ...numbers } = counts
  assert.deepEqual(numbers, { operations: 200, notSelected: 100, imported: 100 })
  assert.deepEqual([skipped, leftOut, notes, variables], [[], [], [], []])
  for (const { name, prefix, text } of configurations) {
    assert.match(`${name} ${prefix}`, /^zoo-t\d \/my\/zoo\/t\d$/)
    assert.match(text, /baseUrl: https:\/\/zoo\.example\.com$/m)
    assert.match(text, /x-team: zoo/)
  }
  for (const wrong of [
    ['--include', '('],
    ['--name', 'a b'],
    ['--prefix', 'x'],
    ['--server', 'ftp://x'],
  ])
    assert.equal(
      (await run(t, ['import', 'openapi', '-', ...wrong], { cwd, input: '{}' })).code,
      2,
      wrong.join(' '),
    )
})

test('--bind and --drop, and what they cannot be', async (t) => {
  const cwd = temporaryFolder(t)
  const query = (name: string, required: boolean) => ({
    name,
    in: 'query',
    required,
    schema: { type: 'string' },
  })
  const parameters = [query('owner', true), query('sort', false), query('q', false)]
  writeFileSync(join(cwd, 'shop.json'), JSON.stringify(operation({ parameters })))
  const imported = (...args: string[]) => run(t, ['import', 'openapi', 'shop.json', ...args], { cwd })
  const { code, stdout, stderr } = await imported('--bind', 'owner=a=${TEAM:b}', '--drop', 'sort')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /owner: a=\{\{env "TEAM" "b"\}\}/)
  assert.deepEqual(stdout.match(/(?<=\{ name: )\w+(?=, position)/g), ['q'])
  assert.match(stderr, /^ {2}TEAM /m)
  for (const [args, message] of [
    [['--bind', 'ownr=x'], '--bind ownr: no operation has an argument of this name. Did you mean owner?'],
    [['--drop', 'owner'], '--drop owner: GET /things requires it; give it a value with --bind owner=value'],
    [
      ['--bind', 'owner'],
      "plantgw: option '--bind <name=value>' argument 'owner' is invalid. Use a name and a value",
    ],
  ] as const) {
    const refused = await imported(...args)
    assert.equal(refused.code, 2)
    assert.ok(refused.stderr.includes(message), refused.stderr)
  }
})

test('what cannot be read is told, with exit code 1 for what it says and 2 for the rest', async (t) => {
  const cwd = temporaryFolder(t)
  const of = async (input: string) => await run(t, ['import', 'openapi', '-'], { cwd, input })
  const syntax = await of('{"openapi": "3.0.0",\n "paths" {}}')
  assert.equal(syntax.code, 1)
  assert.match(syntax.stderr, /^<stdin>:2:10: error: .*\n {2}1 \| /)
  const other = await of('name: shop')
  assert.equal(other.code, 1)
  assert.equal(
    other.stderr,
    'plantgw: - is not an OpenAPI description: the top level has neither `openapi` nor `swagger`\n',
  )
  const several = await of('openapi: 3.0.0\n---\nopenapi: 3.0.0\n')
  assert.match(several.stderr, /^<stdin>:2:1: error: a second document starts here /)
  const nothing = await of(JSON.stringify(document({ '/a': { trace: {} } })))
  assert.deepEqual([nothing.code, nothing.stdout], [1, ''])
  const links = temporaryFolder(t)
  const loop = join(links, 'loop')
  symlinkSync(loop, loop)
  for (const [from, message] of [
    [loop, /the symbolic links of its path form a loop/],
    ['nosuch.json', /no such file/],
    ['.', /it is a folder/],
    ['ftp://example.com/x', /give a file, or an HTTP or HTTPS URL/],
    [`http://127.0.0.1:${await freePort()}/x`, /cannot fetch .*ECONNREFUSED/],
  ] as const) {
    const { code, stderr } = await run(t, ['import', 'openapi', from], { cwd })
    assert.equal(code, 2, from)
    assert.match(stderr, message)
  }
  assert.deepEqual(readdirSync(cwd), [])
})

test('a URL: redirects, limits, and servers relative to it', async (t) => {
  const text = JSON.stringify(operation({}, { servers: [{ url: '../v2' }] }))
  const base = await served(t, (request, response) => {
    const { url = '' } = request
    if (url === '/docs/a/openapi.json') response.end(text)
    else if (url === '/old') response.writeHead(302, { location: '/docs/a/openapi.json' }).end()
    else if (url === '/loop') response.writeHead(301, { location: '/loop' }).end()
    else if (url === '/page') response.end('<!DOCTYPE html><html></html>')
    else if (url === '/bytes') response.end(Buffer.from([0x7b, 0xff, 0xfe]))
    else if (url === '/large') {
      const chunk = Buffer.alloc(1024 * 1024, ' ')
      const more = (): unknown => (response.destroyed ? undefined : response.write(chunk, more))
      more()
    } else response.writeHead(404).end()
  })
  const { code, stdout, stderr } = await run(t, ['import', 'openapi', `${base}/old`])
  assert.equal(code, 0, stderr)
  assert.ok(stdout.includes(`baseUrl: ${base}/docs/v2\n`), stdout)
  for (const [path, message] of [
    ['/nosuch', /the server answered with the status 404/],
    ['/loop', /redirects more than 5 times/],
    ['/page', /the response is a web page/],
    ['/bytes', /not UTF-8/],
    ['/large', /larger than 64 MiB/],
  ] as const) {
    const failed = await run(t, ['import', 'openapi', base + path])
    assert.equal(failed.code, 2, path)
    assert.match(failed.stderr, message)
  }
})

test('a description in several files is followed, beside a file and at the origin of a URL', async (t) => {
  const cwd = temporaryFolder(t)
  const files: Record<string, object> = {
    'openapi.json': document(
      {
        '/pets': { $ref: 'paths/pets.json' },
        '/pets/{id}': { get: { operationId: 'get', parameters: [{ $ref: 'common.json#/params/Id' }] } },
        '/gone': { $ref: 'gone.json' },
        '/far': { $ref: 'https://127.0.0.1:1/far.json#/paths/far' },
        '/folder': { $ref: 'paths' },
        '/nowhere': { $ref: 'common.json#/params/No' },
      },
      {
        security: [{ key: [] }],
        components: { securitySchemes: { $ref: 'common.json#/security' }, schemas: { Tag: { enum: ['a'] } } },
      },
    ),
    'paths/pets.json': {
      post: {
        operationId: 'add',
        requestBody: { content: { 'application/json': { schema: { $ref: '../schemas/pet.json' } } } },
      },
    },
    // References to itself, by its name and without, and back to the first.
    'schemas/pet.json': {
      type: 'object',
      properties: {
        friend: { $ref: '#' },
        mother: { $ref: 'pet.json' },
        size: { $ref: '#/$defs/size' },
        tag: { $ref: '../openapi.json#/components/schemas/Tag' },
      },
      $defs: { size: { type: 'integer' } },
    },
    'common.json': {
      params: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'integer' } } },
      security: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    },
  }
  for (const [name, value] of Object.entries(files)) {
    mkdirSync(join(cwd, name, '..'), { recursive: true })
    writeFileSync(join(cwd, name), JSON.stringify(value))
  }
  const ofFile = await run(t, ['import', 'openapi', 'openapi.json', '--format', 'json'], { cwd })
  const read = JSON.parse(ofFile.stdout)
  assert.deepEqual(read.configurations[0].tools, ['add', 'get'], ofFile.stdout)
  const { text } = read.configurations[0]
  assert.match(text, /name: size, position: body, type: integer/)
  assert.match(text, /enum: \[ a \]/)
  assert.match(text, /X-Key/)
  const reasons = read.skipped.map(
    ({ operation, reason }: Record<string, string>) => `${operation}: ${reason}`,
  )
  assert.match(
    reasons.join('\n'),
    /^\/gone: .*no such file\n\/far: .*another origin.*\n\/folder: .* is not a file\n\/nowhere: .*has no target$/,
  )

  const origin = await served(t, (request, response) => {
    const value = files[request.url!.slice(1)]
    response.writeHead(value ? 200 : 404).end(JSON.stringify(value))
  })
  const ofUrl = await run(t, ['import', 'openapi', `${origin}/openapi.json`, '--format', 'json'], { cwd })
  assert.equal(JSON.parse(ofUrl.stdout).configurations[0].text, text)

  const input = JSON.stringify(files['openapi.json'])
  const ofInput = await run(t, ['import', 'openapi', '-'], { cwd, input })
  assert.match(ofInput.stderr, /6 skipped: it refers to another file: import the description by its path/)
})

test("the plant store's own document, imported and served: its tools create, list and delete plants", async (t) => {
  const cwd = temporaryFolder(t)
  const [store, port] = [await freePort(), await freePort()]
  const settings =
    'plants: { tokens: [{ token: secret, caller: ann }] }\nstorage: { type: directory, path: none }\n'
  writeFileSync(join(cwd, 'store.yaml'), settings)
  writeFileSync(
    join(cwd, 'idle.yaml'),
    'name: idle\nrouters: [{ server: i, prefix: /idle }]\nservers: [{ name: i, description: x }]\n',
  )
  const upstream = plantgw(t, ['serve', 'idle.yaml', '--settings', 'store.yaml', '--port', String(store)], {
    cwd,
  })
  await upstream.until(/plant store/)

  const from = join(ROOT, 'schemas/plants.openapi.json')
  const made = await run(
    t,
    ['import', 'openapi', from, '-o', 'configs', '--server', `http://127.0.0.1:${store}`],
    { cwd },
  )
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /3 operations, 3 imported, 0 skipped\n/)
  const env = { PLANT_STORE_BEARER: 'secret', PLANTGW_PORT: String(port) }
  const unset = await run(t, ['validate', 'configs'], { cwd })
  assert.match(unset.stdout, /: info: the environment variable PLANT_STORE_BEARER is not set.* \[env-empty\]/)
  const sound = await run(t, ['validate', 'configs'], { cwd, env })
  assert.deepEqual([sound.code, sound.stdout], [0, '1 file, nothing wrong\n'])

  const gateway = plantgw(t, ['serve', 'configs', '--port', String(port)], { cwd, env })
  await gateway.until(/Try it:/)
  const call = (...args: string[]) => run(t, ['call', '/plant-store', ...args], { cwd, env })
  const listed = await run(t, ['tools', '/plant-store', '--json'], { cwd, env })
  const tools = JSON.parse(listed.stdout) as { name: string; annotations?: object }[]
  assert.deepEqual(tools.map(({ name }) => name).sort(), ['createPlant', 'deletePlant', 'listPlants'])

  const created = await call('createPlant', 'id=9007199254740993', 'name=Fern "x"', 'tag=shade')
  assert.equal(created.code, 0, created.stdout + created.stderr)
  assert.deepEqual(JSON.parse((await call('listPlants')).stdout), [{ name: 'Fern "x"', tag: 'shade' }])
  const taken = await call('createPlant', 'id=9007199254740993', 'name=Aloe')
  assert.equal(taken.code, 1)
  assert.match(taken.stdout + taken.stderr, /already taken/)
  const deleted = await call('deletePlant', 'id=9007199254740993')
  assert.equal(deleted.code, 0, deleted.stdout + deleted.stderr)
  assert.deepEqual(JSON.parse((await call('listPlants')).stdout), [])
  const refused = await call('createPlant', 'name=Nobody')
  assert.equal(refused.code, 1)
  assert.match(refused.stdout + refused.stderr, /`id` is missing/)
})
