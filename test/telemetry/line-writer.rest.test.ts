import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ROOT } from '../support/process.ts'

const logOf = (format: string) => `import { createLog } from './src/telemetry/log.ts'
const log = await createLog({ level: 'info', format: '${format}' })
const told = () => new Promise((resolve) => process.stdin.once('data', resolve))
`

/** A process with a log on standard error. */
function logging(
  t: TestContext,
  script: string,
  { stderr = 'pipe' as 'pipe' | number, format = 'json' } = {},
) {
  const args = ['--import', 'tsx', '--input-type=module', '-e', logOf(format) + script]
  const env = { ...process.env, NO_COLOR: '1' }
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['pipe', 'pipe', stderr] })
  t.after(() => child.kill('SIGKILL'))
  return child as ChildProcessWithoutNullStreams
}

interface Line {
  level: string
  msg: string
  lines?: number
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

test('what is logged just before the process exits is written, in order', async (t) => {
  const child = logging(t, `for (let i = 0; i < 60_000; i++) log.info(String(i)); process.exit(3)`)
  const [read, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  assert.equal(code, 3)
  assert.deepEqual(
    linesOf(read).map(({ msg }) => msg),
    Array.from({ length: 60_000 }, (_, i) => String(i)),
  )
})

test('a process exits although the reader of its log is gone', { timeout: 60_000 }, async (t) => {
  const child = logging(
    t,
    `process.stdout.write('ready'); await told(); log.info('x'); log.info('y'); process.exit(3)`,
  )
  await once(child.stdout, 'data')
  child.stderr.destroy()
  await once(child.stderr, 'close')
  child.stdin.write('go')
  assert.deepEqual(await once(child, 'exit'), [3, null])
})

test('a process exits although its log is not read', { timeout: 60_000 }, async (t) => {
  const child = logging(t, `for (let i = 0; i < 50_000; i++) log.info(String(i)); process.exit(3)`)
  assert.deepEqual(await once(child, 'exit'), [3, null])
})

test('a full disk under the log ends no process', { timeout: 60_000 }, async (t) => {
  const full = await open('/dev/full', 'w')
  t.after(() => full.close())
  const script = `log.info('x')
process.stdout.write('ready')
await told()
log.info('y')
process.exit(3)`
  const child = logging(t, script, { stderr: full.fd })
  await once(child.stdout, 'data')
  child.stdin.write('go')
  assert.deepEqual(await once(child, 'exit'), [3, null])
})

/** What is read of a log into which much more was written at once than there is room for, and one line later on. */
async function overfilled(t: TestContext, format?: string): Promise<string[]> {
  const child = logging(
    t,
    `for (let i = 0; i < 20; i++) log.info('x'.repeat(1_000_000))
process.stdout.write('full')
await told()
log.info('after')
process.exit()`,
    { format },
  )
  await once(child.stdout, 'data')
  let read = ''
  for await (const chunk of child.stderr.setEncoding('latin1')) {
    read += chunk
    if (/too slow.*\n$/.test(read)) child.stdin.end('go')
  }
  return read.split('\n').filter(Boolean)
}

test('lines for which there is no room are dropped and counted', { timeout: 60_000 }, async (t) => {
  const lines = linesOf((await overfilled(t)).join('\n'))
  const long = lines.filter(({ msg }) => msg.startsWith('x')).length
  assert.ok(long >= 8 && long < 12, `${long} lines`)
  assert.deepEqual(
    lines.slice(long).map(({ level, lines, msg }) => [level, lines ?? msg]),
    [
      ['warn', 20 - long],
      ['info', 'after'],
    ],
  )
})

test('a log for people says in its own form that lines were dropped', { timeout: 60_000 }, async (t) => {
  const lines = await overfilled(t, 'pretty')
  const long = lines.filter((line) => line.includes(' INFO: xxx')).length
  const [dropped, after] = lines.slice(long).map((line) => line.replace(/^\[[\d:.]+\] /, ''))
  assert.equal(dropped, `WARN: log lines were dropped because the reader was too slow lines=${20 - long}`)
  assert.equal(after, 'INFO: after')
})
