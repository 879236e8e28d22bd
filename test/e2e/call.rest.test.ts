import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Era, startEverything } from '../fixtures/everything/start.ts'
import { serveExamples } from '../support/examples.ts'
import { BIN, plantgw, ROOT, temporaryFolder } from '../support/process.ts'

const SERVERS: ['http' | 'sse', Era][] = [
  ['http', 'session'],
  ['http', 'dual'],
  ['http', 'modern'],
  ['sse', 'session'],
]

for (const [transport, era] of SERVERS)
  test(`tools and call against a server: ${transport}, ${era}`, async (t) => {
    const url = await startEverything(t, transport, era)
    const run = async (...args: string[]) => {
      const running = plantgw(t, args)
      return { code: await running.ended, out: running.stdout(), err: running.stderr() }
    }
    const listed = await run('tools', url, '--json')
    assert.equal(listed.code, 0, listed.err)
    const tools = JSON.parse(listed.out) as { name: string }[]
    assert.ok(tools.some(({ name }) => name === 'test_simple_text'))
    assert.match((await run('tools', url)).out, /^test_simple_text\n {2}Answers with one text\n/m)

    assert.deepEqual(await run('call', url, 'test_simple_text'), {
      code: 0,
      out: 'This is a simple text response for testing.\n',
      err: '',
    })
    const json = JSON.parse((await run('call', url, 'test_simple_text', '--json')).out)
    const { content, ...more } = json
    assert.equal(content[0].text, 'This is a simple text response for testing.')
    // Nothing is added to what a server with sessions gave.
    assert.deepEqual(era === 'session' ? more : {}, {})
    const progress = await run('call', url, 'test_tool_with_progress')
    assert.equal(progress.err, '[0/100] 0 of 100\n[50/100] 50 of 100\n[100/100] 100 of 100\n')
    const failed = await run('call', url, 'test_error_handling')
    assert.equal(failed.code, 1)
    const mixed = await run('call', url, 'test_multiple_content_types')
    assert.match(mixed.out, /^\[image: 69 bytes, image\/png; see --json]$/m)
    const asks = await run('call', url, 'test_elicitation', 'message=Who?')
    assert.equal(asks.code, 2)
    assert.match(asks.err, /elicitation.*On a terminal, elicitation can be answered/s)
  })

const SCRIPT = { skip: !existsSync('/usr/bin/script') && 'needs script (bsdutils) for a terminal' }

for (const era of ['session', 'modern'] as const)
  test(`a question of the server is answered on a terminal: ${era}`, SCRIPT, async (t) => {
    const url = await startEverything(t, 'http', era)
    const command = `"${process.execPath}" "${BIN}" call ${url} test_elicitation message=Who?`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    let shown = ''
    const asked = [/username\*/, /email\*/]
    const answers = ['bob\n', 'bob@example.com\n']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      if (asked[0]?.test(shown)) {
        asked.shift()
        child.stdin.write(answers.shift()!)
      }
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 0, shown)
    assert.match(shown, /User response: .*"username":"bob","email":"bob@example.com"/)
  })

test('a prefix of the gateway, and what is said of mistakes', async (t) => {
  const { base } = await serveExamples(t)
  const settings = join(temporaryFolder(t), 'plantgw.yaml')
  writeFileSync(settings, `port: ${new URL(base).port}\n`)
  const run = async (...args: string[]) => {
    const running = plantgw(t, [...args, '--settings', settings])
    return { code: await running.ended, out: running.stdout(), err: running.stderr() }
  }
  const big = '9223372036854775807'
  const made = await run('call', '/gateway/plants', 'createPlant', `id=${big}`, 'name=Fern "x"={{y}}')
  assert.equal(made.out, '{"name":"Fern \\"x\\"={{y}}"}\n')
  const together = await run('call', '/gateway/together', 'plants__listPlants')
  assert.equal(together.out, '[{"name":"Fern \\"x\\"={{y}}"}]\n')
  assert.equal((await run('call', '/gateway/plants', 'deletePlant', `id=${big}`)).code, 0)

  const says = async (pattern: RegExp, ...args: string[]) => {
    const { code, err } = await run(...args)
    assert.equal(code, 2)
    assert.match(err, pattern)
  }
  await says(/no tool createPlan: did you mean createPlant\?/, 'call', '/gateway/plants', 'createPlan')
  await says(/no argument nam: did you mean name\?/, 'call', '/gateway/plants', 'createPlant', 'nam=x')
  await says(/id must be an integer, got "x"/, 'call', '/gateway/plants', 'createPlant', 'id=x')
  await says(
    /garden is not a URL .*, and a prefix begins with a slash: did you mean \/garden\?/,
    'tools',
    'garden',
  )
  await says(/\(status 404\)\. It serves \/gateway\/plants\/mcp/, 'tools', '/nothing')
  await says(/nothing is listening there\. Is it running\?/, 'tools', 'http://127.0.0.1:1/mcp')
})

test('no command connects to a metadata service, nor to where a server says that one has to log in', async (t) => {
  const refusal = /is at the address of a metadata service, to which this gateway does not connect/
  for (const host of ['169.254.169.254', '2852039166', '[fd00:ec2::254]']) {
    const running = plantgw(t, ['tools', `http://${host}/mcp`])
    assert.equal(await running.ended, 2)
    assert.match(running.stderr(), refusal, host)
  }
  const metadata = 'http://169.254.169.254/oauth'
  const server = createServer(({ url = '' }, response) => {
    const isMetadata = url.startsWith('/.well-known/oauth-protected-resource')
    response.writeHead(isMetadata ? 200 : 401, {
      'content-type': 'application/json',
      'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`,
    })
    response.end(
      isMetadata ? JSON.stringify({ resource: `${origin}/mcp`, authorization_servers: [metadata] }) : '{}',
    )
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const running = plantgw(t, ['tools', `${origin}/mcp`, '--no-browser'], {
    env: { XDG_STATE_HOME: temporaryFolder(t) },
  })
  assert.equal(await running.ended, 2)
  assert.match(running.stderr(), refusal)
})

test('Ctrl-C ends a command that waits for a server', async (t) => {
  for (const [command, ...args] of [['tools'], ['call', 'x']] as [string, ...string[]][]) {
    // Answers nothing.
    const server = createServer().listen(0, '127.0.0.1')
    t.after(() => {
      server.close()
      server.closeAllConnections()
    })
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const running = plantgw(t, [command, `http://127.0.0.1:${port}/mcp`, ...args])
    await once(server, 'request')
    running.child.kill('SIGINT')
    assert.equal(await running.ended, 2)
    assert.equal(running.stderr(), 'plantgw: cancelled\n')
    assert.equal(running.stdout(), '')
  }
})
