import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintSteps } from '../../src/checks/templates/index.ts'

// The work that a file of a tenant costs all others is bounded.

const tenants = [
  { name: 'green', prefix: '/green', tokens: [], env: [], stdio: false, commands: [], notifier: false },
]
const KIB = 1024

async function codesOf(text: string): Promise<string[]> {
  const settings = { tenants, host: '127.0.0.1', allowUnauthenticated: false }
  const { findings } = await check(['-'], { env: {}, settings, stdin: () => Buffer.from(text) })
  return findings.filter(({ severity }) => severity === 'error').map(({ code }) => code)
}

/** A file of a size in bytes. */
const padded = (head: string, size: number) => `${head}${'#'.repeat(size - head.length)}`
const GREEN = 'name: plants\ntenant: green\n'

function tools(count: number, header: string, first = GREEN): string {
  const all = Array.from(
    { length: count },
    (_, i) =>
      `  - {name: t${i}, endpoint: "https://api.example.com/", method: GET, headers: {X-A: '${header}'}}\n`,
  )
  return `${first}servers: [{name: s}]\nrouters: [{server: s, prefix: /green/s}]\ntools:\n${all.join('')}`
}

test('a file of a tenant has at most 256 KiB, however it names its tenant', async () => {
  assert.deepEqual(await codesOf(padded(GREEN, 256 * KIB)), [])
  const json = JSON.stringify({ name: 'plants', tenant: 'green', 'x-pad': '#'.repeat(256 * KIB) })
  const merged = `x-a: &a {tenant: green}\nname: plants\n<<: *a\n`
  for (const head of [
    GREEN,
    'name: plants\n"tenant": "green"\n',
    'name: plants\ntenant: green # ours\n',
    merged,
  ])
    assert.deepEqual(await codesOf(padded(head, 256 * KIB + 1)), ['file-too-large'], head)
  assert.deepEqual(await codesOf(json), ['file-too-large'])
})

test('the operator may have larger files', async () => {
  for (const head of ['name: plants\n', 'name: plants\ntenant: default\n'])
    assert.deepEqual(await codesOf(padded(head, 300 * KIB)), [], head)
})

test('templates of a tenant take a bounded number of steps when the file is read', async () => {
  const long = '{{repeat 200000 "ab" | trunc 5}}'
  assert.deepEqual(await codesOf(tools(1, long)), [])
  assert.deepEqual(await codesOf(tools(20, long)), ['tenant-templates'])
  const ofCalls = tools(20, '{{repeat 200000 "ab" | trunc 5}}{{.Request.Headers.a}}')
  assert.deepEqual(await codesOf(ofCalls), ['tenant-templates'])
  assert.deepEqual(await codesOf(tools(20, long, 'name: plants\n').replace('/green/s', '/s')), [])
})

test('others have their turn between two tools', () => {
  const read = readConfiguration({ file: 'a.yaml', text: tools(30, '{{.Args.id}}') }, {})
  assert.ok([...lintSteps(read, {})].length >= 30)
})
