import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { chart } from '../../bench/peers/chart.ts'
import { family, processEntry } from '../../bench/peers/kernel.ts'
import { better, page, type Report, type Result, summary, withRows } from '../../bench/peers/page.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'

const result = (peer: string, micros: number, more: Partial<Result> = {}): Result => ({
  case: 'stdio',
  peer,
  connections: 16,
  micros,
  perSecond: 1e6 / micros,
  p50: 1,
  p99: 2,
  resident: 90,
  ...more,
})

const report: Report = {
  date: '2026-11-23',
  machine: 'a processor, 2 cores',
  load: [0.5, 1.25],
  rounds: 5,
  seconds: 1.5,
  peers: [
    { name: 'plantgw, Node 24', version: '1', isFloor: false },
    { name: 'plantgw, Node 20', version: '1', isFloor: false },
    { name: 'bare relay', version: '1', isFloor: true },
    { name: 'other', version: '2', isFloor: false },
    { name: 'third', version: '3', isFloor: false },
  ],
  results: [
    result('plantgw, Node 24', 100.4),
    result('plantgw, Node 20', 90),
    result('bare relay', 50),
    result('other', 99.4, { p99: 3 }),
    result('third', 300),
  ],
  idle: [
    { peer: 'plantgw, Node 24', case: 'stdio', resident: 80 },
    { peer: 'other', case: 'stdio', resident: 90 },
  ],
  startup: [],
  large: [],
  curves: [],
  left: [{ name: 'fourth', why: 'it is not here' }],
}

test('the page reports where a gateway is better, and neither relays nor other versions of Node count', () => {
  assert.deepEqual(better(report), [
    '- stdio proxy, 16 connections: CPU for a call: other 99.4 µs; plantgw 100.',
  ])
  const text = page(report)
  assert.ok(text.includes('- stdio proxy, 16 connections: CPU for a call: other 99.4 µs; plantgw 100.'))
  assert.ok(text.includes('load average of the machine was 0.5 before the run and 1.3 after it'))
  assert.ok(text.includes('- fourth: it is not here.'))
  assert.ok(text.includes('| other | 16 | 99 | 10060 | 1.00 | 3.00 | 90 |'))
  const best = { ...report, results: report.results.filter(({ peer }) => peer !== 'other') }
  assert.deepEqual(better(best), [])
  assert.ok(page(best).includes('In no figure of this run.'))
})

test('the rows of the README name the best other gateway, and leave open what was not measured', () => {
  assert.deepEqual(summary(report).slice(2), [
    '| HTTP tool call, CPU in µs | – | – | – |',
    '| Streamable HTTP proxy, CPU in µs | – | – | – |',
    '| stdio proxy, CPU in µs | 100 | 99 (other) | 50 |',
    '| Memory without load, MiB | 80 | 90 (other) | – |',
  ])
})

test('new rows take the place of the old ones between the markers, as they are', () => {
  const text = 'a\n<!-- benchmarks -->\nold\nrows\n<!-- /benchmarks -->\nb\n'
  assert.equal(withRows(text, ['| $& |']), 'a\n<!-- benchmarks -->\n| $& |\n<!-- /benchmarks -->\nb\n')
  assert.throws(() => withRows('a', []), /markers/)
  assert.doesNotThrow(() => withRows(readFileSync(join(ROOT, 'README.md'), 'utf8'), []))
})

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

test('a chart draws each point within its axes, and escapes names', () => {
  const lines = [
    { name: 'a < b', points: [[1, 100] as [number, number], [10, 150], [1_000, 900]] },
    { name: 'never measured', points: [] },
    { name: 'flat', points: [[1, 0] as [number, number], [1_000, 120]] },
  ] as { name: string; points: [number, number][] }[]
  const svg = chart({ name: 'x', title: 'Cost & size', x: 'bytes', y: 'µs', lines })
  const dots = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ])
  assert.equal(dots.length, 5)
  for (const [x, y] of dots) {
    assert.ok(x! >= 64 && x! <= 470, String(x))
    assert.ok(y! >= 44 && y! <= 284, String(y))
  }
  // From left to right, and higher for more.
  assert.ok(dots[0]![0]! < dots[1]![0]! && dots[0]![1]! > dots[1]![1]!)
  assert.ok(svg.includes('a &lt; b') && svg.includes('Cost &amp; size') && !svg.includes('never measured'))
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
