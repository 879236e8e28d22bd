// Runs tests with node:test through tsx: `node test/run.js [--watch] [unit | FOLDER | FILE]…`, every test without
// arguments. `unit` is the folders of `UNIT`; any folder of test/ can be named, such as `e2e` or `soak`. Where a test was
// named that may drive the built command line, and `dist` is older than `src`, it is built first.
//
// At the end the runner reports which tests were left out because something that they need is not here. With CI=true
// that is a failure, and files that failed run once more, one by one: what passes then is reported as unsteady.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Folders whose tests run from source, and share a process for each folder: starting one takes longer than most tests. */
const UNIT = [
  'access',
  'checks',
  'clients',
  'config',
  'findings',
  'json',
  'mcp',
  'openapi',
  'shaping',
  'telemetry',
  'template',
  'tools',
]
/** Folders whose tests measure time or memory, or drive a suite with limits of time: they have the machine for themselves. */
const ALONE = ['budget', 'conformance', 'fuzz', 'hostile', 'limits', 'soak']
/** Variables that ask for more runs of a test than CI makes. */
const LONGER = ['PLANTGW_HISTORIES', 'PLANTGW_LADDER', 'PLANTGW_RESTARTS', 'PLANTGW_SIM_RUNS']
/** Milliseconds after which a test file is ended as failed, on the slowest machine. */
const FILE_TIMEOUT = LONGER.some((name) => process.env[name] !== undefined) ? 86_400_000 : 900_000
/** Files that failed beyond which none is run again: what is broken is not unsteady. */
const MAX_AGAIN = 3

const strict = process.env.CI === 'true'
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const files = named.length ? named.flatMap(filesOf) : testsBelow('test')
if (files.some((file) => !UNIT.includes(roomOf(file))) && isStale()) build()

const scratch = mkdtempSync(join(tmpdir(), 'plantgw-run-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
const alone = files.filter((file) => ALONE.includes(roomOf(file)))
const together = files.filter((file) => !alone.includes(file))
const results = [run(grouped(together), availableParallelism()), run(alone, 1)]
const failed = results.flatMap((result) => result.failed)
const skipped = results.flatMap((result) => result.skipped)
let status = Math.max(...results.map((result) => result.status))

const again = [...new Set(failed.map(({ file }) => relative('.', file)))]
if (strict && status !== 0 && again.length > 0 && again.length <= MAX_AGAIN) {
  console.log(`\nRunning again, one by one: ${again.join(' ')}`)
  status = run(again, 1).status
  if (status === 0)
    for (const outcome of failed)
      console.error(`Unsteady: ${outcome.failed} (${relative('.', outcome.file)})`)
}
const reasons = new Map()
for (const { skipped: reason } of skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
if (reasons.size > 0) {
  console.error('\nLeft out:')
  for (const [reason, count] of reasons) console.error(`  ${count} tests: ${reason}`)
}
const incomplete = skipped.length > 0 && strict
if (incomplete) console.error('With CI=true every test has to run.')
process.exit(status || (incomplete ? 1 : 0))

/** The test files that an argument names. */
function filesOf(name) {
  if (name === 'unit') return UNIT.flatMap((folder) => testsBelow(`test/${folder}`))
  if (existsSync(name)) return statSync(name).isDirectory() ? testsBelow(name) : [name]
  if (existsSync(`test/${name}`)) return testsBelow(`test/${name}`)
  console.error(
    `There is no suite, folder or file ${name}; suites are: unit ${readdirSync('test').join(' ')}`,
  )
  process.exit(2)
}

function testsBelow(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .sort()
}

/** The folder of test/ that a file is in. */
function roomOf(file) {
  return relative(join(ROOT, 'test'), resolve(file)).split('/')[0]
}

/** The same tests with one file for each folder of `UNIT` of which more than one file is named. */
function grouped(paths) {
  const rooms = [...new Set(paths.map(roomOf))]
  return rooms.flatMap((room) => {
    const members = paths.filter((path) => roomOf(path) === room)
    if (!UNIT.includes(room) || members.length === 1) return members
    const entry = join(scratch, `${room}.test.mjs`)
    const imports = members.map(
      (member) => `await import(${JSON.stringify(pathToFileURL(resolve(member)).href)})`,
    )
    writeFileSync(entry, imports.join('\n'))
    return [entry]
  })
}

/** Whether something that the build reads is newer than what it wrote last. */
function isStale() {
  const written = join(ROOT, 'dist/bin/LICENSES.txt')
  if (!existsSync(written)) return true
  const built = statSync(written).mtimeMs
  const sources = ['src', 'schemas'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, name)),
  )
  return [...sources, 'package.json', 'bundle.js'].some((name) => statSync(join(ROOT, name)).mtimeMs > built)
}

function build() {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit', cwd: ROOT })
  if (status !== 0) process.exit(status ?? 1)
}

/** Runs test files, so many at a time. Their own output goes where ours goes. */
function run(paths, concurrency) {
  if (!paths.length) return { status: 0, failed: [], skipped: [] }
  const outcomes = join(scratch, 'outcomes')
  const reporters = [
    [process.stdout.isTTY ? 'spec' : 'tap', 'stdout'],
    ['./test/support/outcomes.js', outcomes],
  ]
  const { status } = spawnSync(
    process.execPath,
    [
      '--import',
      'tsx',
      '--test',
      `--test-timeout=${FILE_TIMEOUT}`,
      `--test-concurrency=${concurrency}`,
      ...flags,
      ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
      ...paths,
    ],
    { stdio: 'inherit', cwd: ROOT },
  )
  const lines = readFileSync(outcomes, 'utf8').split('\n').filter(Boolean).map(JSON.parse)
  return {
    status: status ?? 1,
    failed: lines.filter((outcome) => outcome.failed !== undefined),
    skipped: lines.filter((outcome) => outcome.skipped !== undefined),
  }
}
