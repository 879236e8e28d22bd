// Runs every test file below test/ (or those named on the command line) with node:test through tsx, and says at the
// end which tests were left out because something that they need is not here. With CI=true that is a failure.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const named = process.argv.slice(2)
const files = named.length
  ? named
  : readdirSync(import.meta.dirname, { recursive: true })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => `test/${name}`)
      .sort()

const folder = mkdtempSync(join(tmpdir(), 'plantgw-run-'))
const skippedFile = join(folder, 'skipped')
const reporters = [
  [process.stdout.isTTY ? 'spec' : 'tap', 'stdout'],
  ['./test/support/skipped.js', skippedFile],
]
const { status } = spawnSync(
  process.execPath,
  [
    '--import',
    'tsx',
    '--test',
    ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
    ...files,
  ],
  { stdio: 'inherit', cwd: new URL('..', import.meta.url) },
)
const skipped = readFileSync(skippedFile, 'utf8').split('\n').filter(Boolean).map(JSON.parse)
rmSync(folder, { recursive: true })

const reasons = new Map()
for (const { reason } of skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
if (reasons.size > 0) {
  console.error('\nLeft out:')
  for (const [reason, count] of reasons) console.error(`  ${count} tests: ${reason || 'no reason given'}`)
}
const incomplete = skipped.length > 0 && process.env.CI === 'true'
if (incomplete) console.error('With CI=true every test has to run.')
process.exit(status || (incomplete ? 1 : 0))
