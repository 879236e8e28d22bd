import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { family, processEntry } from '../../bench/peers/kernel.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'

test('a gateway counts with what it started, but for servers', () => {
  const stat = (parent: number) => `7 (a) b) S ${parent} 1 1 0 -1 4194304 1 0 0 0 150 50 9 9 20 0 1`
  const entries = [
    processEntry(10, stat(1), 'gateway\0--port\x001\0'),
    processEntry(11, stat(10), 'worker\0'),
    processEntry(12, stat(11), 'node\0mcp.mjs\0'),
    processEntry(13, stat(12), 'child-of-server\0'),
    processEntry(14, stat(1), 'another\0'),
  ]
  assert.deepEqual(entries[0], { pid: 10, parent: 1, cpu: 2, command: 'gateway --port 1' })
  assert.deepEqual(
    family(entries, 10, 'mcp.mjs').map(({ pid }) => pid),
    [10, 11],
  )
})

const noTaskset: string | false = spawnSync('taskset', ['-V']).error ? 'no taskset on this machine' : false

function suite(t: TestContext, out: string) {
  const env = {
    ...process.env,
    QUICK: '1',
    OUT: out,
    PEERS: `bare relay;plantgw, Node ${process.versions.node.split('.')[0]}`,
  }
  const child = spawn(process.execPath, ['--import', 'tsx', 'bench/run.ts', 'peers'], { cwd: ROOT, env })
  t.after(() => child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  return { child, ended: once(child, 'exit'), text: () => text }
}

test('the whole suite runs through, and can be stopped', { skip: noTaskset }, async (t) => {
  const out = temporaryFolder(t)
  writeFileSync(join(out, 'README.md'), '<!-- benchmarks -->\n\n<!-- /benchmarks -->\n')
  const { ended, text } = suite(t, out)
  assert.deepEqual(await ended, [0, null], text())
  const written = readFileSync(join(out, 'docs/benchmarks.md'), 'utf8')
  assert.ok(!written.includes('Not measured in this run'), written)
  for (const [, image] of written.matchAll(/\]\((charts\/[^)]+)\)/g))
    assert.match(readFileSync(join(out, 'docs', image!), 'utf8'), /<circle /, image)
  assert.equal(readdirSync(join(out, 'docs/charts')).length, 7)
  assert.match(readFileSync(join(out, 'README.md'), 'utf8'), /\| HTTP tool call, CPU in µs \| .* \| \d+ \|\n/)

  const other = temporaryFolder(t)
  const stopped = suite(t, other)
  while (!/ tool \{\}/.test(stopped.text())) await once(stopped.child.stderr, 'data')
  stopped.child.kill('SIGINT')
  assert.deepEqual(await stopped.ended, [130, null], stopped.text())
  assert.ok(!existsSync(join(other, 'docs')))
})
