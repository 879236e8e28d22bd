// Runs every test file below test/ (or those named on the command line) with node:test through tsx, and says at the
// end which tests were left out because something that they need is not here. With CI=true that is a failure, and a
// file that failed is run once more by itself: what passes then is named as unsteady, for somebody to mend.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const named = process.argv.slice(2)
const files = named.length
  ? named
  : readdirSync(import.meta.dirname, { recursive: true })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => `test/${name}`)
      .sort()
const strict = process.env.CI === 'true'
/** Milliseconds after which a file hangs, and is ended as failed, on the slowest machine. */
const FILE_TIMEOUT = 900_000

const first = run(files)
let { status } = first
const again = [...new Set(first.failed.map((outcome) => relative('.', outcome.file)))]
if (strict && status !== 0 && again.length > 0 && again.length <= 3) {
  console.log(`\nRun once more, by itself: ${again.join(' ')}`)
  status = run(again, ['--test-concurrency=1']).status
  if (status === 0)
    for (const { file, failed } of first.failed) console.error(`Unsteady: ${failed} (${relative('.', file)})`)
}

const reasons = new Map()
for (const { skipped } of first.skipped) reasons.set(skipped, (reasons.get(skipped) ?? 0) + 1)
if (reasons.size > 0) {
  console.error('\nLeft out:')
  for (const [reason, count] of reasons) console.error(`  ${count} tests: ${reason}`)
}
const incomplete = first.skipped.length > 0 && strict
if (incomplete) console.error('With CI=true every test has to run.')
process.exit(status || (incomplete ? 1 : 0))

/** Runs test files. Their own output goes where ours goes. */
function run(paths, flags = []) {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-run-'))
  const file = join(folder, 'outcomes')
  const reporters = [
    [process.stdout.isTTY ? 'spec' : 'tap', 'stdout'],
    ['./test/support/outcomes.js', file],
  ]
  const { status } = spawnSync(
    process.execPath,
    [
      '--import',
      'tsx',
      '--test',
      `--test-timeout=${FILE_TIMEOUT}`,
      ...flags,
      ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
      ...paths,
    ],
    { stdio: 'inherit', cwd: new URL('..', import.meta.url) },
  )
  const outcomes = readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse)
  rmSync(folder, { recursive: true })
  return {
    status,
    failed: outcomes.filter((outcome) => outcome.failed !== undefined),
    skipped: outcomes.filter((outcome) => outcome.skipped !== undefined),
  }
}
