// Runs tests with node:test through tsx. Three tiers (see CONTRIBUTING.md, "Tests"):
//
//   node test/run.js                  the gate: every `*.test.ts` but those of the rest
//   node test/run.js --all            everything: also the rest, `*.rest.test.ts`, and the rest's legs of other files
//   node test/run.js --slice=COMMIT   the twelfth of the rest that the hash of a commit chooses
//   node test/run.js NAME…            folders of test/, `unit` (the folders of `UNIT`) or files
//
// `--timings` writes the seconds of each file to test-timings.tsv; every other option goes to `node --test`. Where a
// test was named that may drive the built command line, and `dist` is older than `src`, it is built first. The runner
// ends with the slowest files, with the tests that were left out, which is a failure with CI=true, and with those that failed.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Folders whose tests run from source. */
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
/** Folders whose files run one at a time: they fill memory or both cores. */
const ALONE = ['budget', 'conformance', 'hostile', 'limits', 'soak']
/** Folders whose files have a process each: they replace what a process has only once, such as timers. */
const UNSHARED = [...ALONE, 'simulation']
/** Files that share a process, since starting one and loading the sources takes longer than most tests. */
const SHARING = 12
/** The parts of the rest, of which CI runs one. */
const SLICES = 12
/** Variables that ask for more runs of a test than CI makes. */
const LONGER = ['PLANTGW_HISTORIES', 'PLANTGW_LADDER', 'PLANTGW_RESTARTS', 'PLANTGW_SIM_RUNS']
/** Milliseconds after which a process of tests is ended as failed, on the slowest machine. */
const PROCESS_TIMEOUT = LONGER.some((name) => process.env[name] !== undefined) ? 86_400_000 : 1_800_000

const started = Date.now()
process.chdir(ROOT)
const strict = process.env.CI === 'true'
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const slice = flags.find((flag) => flag.startsWith('--slice='))?.slice('--slice='.length)
const all = flags.includes('--all')
const ours = (flag) => flag === '--all' || flag === '--timings' || flag.startsWith('--slice=')
const scratch = scratchFolder()
const files = chosen()
if (files.some((file) => !UNIT.includes(roomOf(file))) && isStale()) build()

const alone = files.filter((file) => ALONE.includes(roomOf(file)))
const unshared = files.filter((file) => UNSHARED.includes(roomOf(file)) && !alone.includes(file))
const shared = files.filter((file) => !UNSHARED.includes(roomOf(file)))
// Twice the cores, as tests also wait for servers and time-outs.
const atOnce = availableParallelism() * 2
const results = [await run([...unshared, ...dealt(shared)], atOnce), await run(alone, 1)]
report(results.flatMap((result) => result.outcomes))
const skipped = results.some((result) => result.outcomes.some((outcome) => outcome.skipped !== undefined))
if (skipped && strict) console.error('With CI=true every test has to run.')
process.exit(Math.max(...results.map((result) => result.status)) || (skipped && strict ? 1 : 0))

/** The test files that the arguments ask for. */
function chosen() {
  const isRest = (file) => file.endsWith('.rest.test.ts')
  if (slice !== undefined) {
    const rest = testsBelow('test').filter(isRest)
    const index = Number.parseInt(slice.slice(0, 8), 16) % SLICES
    if (Number.isNaN(index)) fail(`--slice= takes the hash of a commit, not ${slice}.`)
    return rest.filter((_, position) => position % SLICES === index)
  }
  const found = named.length ? named.flatMap(filesOf) : testsBelow('test')
  return found.filter((file) => all || named.includes(file) || !isRest(file))
}

/** The test files that an argument names. */
function filesOf(name) {
  if (name === 'unit') return UNIT.flatMap((folder) => testsBelow(`test/${folder}`))
  for (const path of [name, `test/${name}`]) {
    if (existsSync(path)) return statSync(path).isDirectory() ? testsBelow(path) : [path]
  }
  const folders = readdirSync('test', { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && testsBelow(`test/${entry.name}`).length > 0,
  )
  return fail(
    `There is no test ${name}. Name a file, or one of: unit ${folders.map(({ name }) => name).join(' ')}`,
  )
}

function testsBelow(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .sort()
}

/** The folder of test/ that a file is in. */
function roomOf(file) {
  return relative(join(ROOT, 'test'), resolve(file)).split('/')[0]
}

/** The same tests in files that import up to `SHARING` of them each, dealt out so that slow neighbours part. */
function dealt(paths) {
  if (paths.length === 1) return paths
  const count = Math.ceil(paths.length / SHARING)
  return Array.from({ length: count }, (_, index) => {
    const entry = join(scratch, `tests-${index + 1}.test.mjs`)
    const imports = paths
      .filter((_, position) => position % count === index)
      .map((path) => `await import(${JSON.stringify(pathToFileURL(resolve(path)).href)})`)
    writeFileSync(entry, imports.join('\n'))
    return entry
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
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

/** A folder for files of this run, removed when it ends. */
function scratchFolder() {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'plantgw-run-'))
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    return folder
  } catch (error) {
    return fail(`Tests need a temporary folder: ${error.message}. Set TMPDIR to one that can be written.`)
  }
}

function fail(text) {
  console.error(text)
  process.exit(2)
}

/** Runs test files, so many at a time. Their own output goes where ours goes. */
async function run(paths, concurrency) {
  if (!paths.length) return { status: 0, outcomes: [] }
  const written = join(scratch, 'outcomes')
  const reporters = [
    [process.stdout.isTTY ? 'spec' : 'tap', 'stdout'],
    ['./test/support/outcomes.js', written],
  ]
  const child = spawn(
    process.execPath,
    [
      '--import=tsx',
      '--test',
      `--test-timeout=${PROCESS_TIMEOUT}`,
      `--test-concurrency=${concurrency}`,
      ...flags.filter((flag) => !ours(flag)),
      ...reporters.flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]),
      ...paths,
    ],
    // A group of its own, so that a signal ends each process that the tests started.
    {
      stdio: 'inherit',
      detached: true,
      env: { ...process.env, ...(all || slice ? { PLANTGW_TEST_REST: '1' } : {}) },
    },
  )
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const end = (signal) => {
    stop(child.pid)
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  for (const signal of signals) process.on(signal, end)
  const status = await new Promise((done) => child.on('exit', (code) => done(code ?? 1)))
  for (const signal of signals) process.off(signal, end)
  const outcomes = readFileSync(written, 'utf8').split('\n').filter(Boolean).map(JSON.parse)
  return { status, outcomes }
}

/** Ends a group of processes, and what is left below it in other groups. */
function stop(group) {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
  const pairs = (stdout ?? '')
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const below = (parent) => pairs.filter(([, of]) => of === parent).flatMap(([pid]) => [pid, ...below(pid)])
  for (const pid of [-group, ...below(group)]) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  }
}

/** Prints the slowest files, the whole time, what was left out and what failed. */
function report(outcomes) {
  const seconds = new Map()
  for (const { file, ms } of outcomes) {
    if (ms !== undefined)
      seconds.set(relative('.', file), (seconds.get(relative('.', file)) ?? 0) + ms / 1000)
  }
  const slowest = [...seconds].sort(([, one], [, other]) => other - one)
  if (slowest.length > 1) {
    console.error('\nThe slowest files:')
    for (const [file, time] of slowest.slice(0, 10))
      console.error(`${time.toFixed(1).padStart(7)} s  ${file}`)
  }
  if (flags.includes('--timings')) {
    writeFileSync('test-timings.tsv', slowest.map(([file, time]) => `${time.toFixed(2)}\t${file}\n`).join(''))
  }
  const whole = Math.round((Date.now() - started) / 1000)
  console.error(`${files.length} files in ${Math.floor(whole / 60)} min ${whole % 60} s.`)
  const reasons = new Map()
  for (const { skipped } of outcomes) {
    if (skipped !== undefined) reasons.set(skipped, (reasons.get(skipped) ?? 0) + 1)
  }
  if (reasons.size > 0) console.error('\nLeft out:')
  for (const [reason, count] of reasons) console.error(`  ${count} tests: ${reason}`)
  const failed = outcomes.filter((outcome) => outcome.failed !== undefined)
  if (failed.length > 0) console.error('\nFailed:')
  for (const { file, failed: name, why } of failed) {
    console.error(`  ${relative('.', file)}: ${name}\n${why.slice(0, 4_000).replace(/^/gm, '    ')}`)
  }
}
