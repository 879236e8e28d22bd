import { Command, InvalidArgumentError } from 'commander'
import { check } from '../../build/check-configurations.ts'
import { DEFAULT_LIMITS, type Limits, parseDuration, type ReadConfiguration } from '../../config/index.ts'
import {
  type CheckEndpointsOptions,
  checkEndpoints,
  DEFAULTS,
  type EndpointCheck,
  endpointFindings,
  type Status,
  type Step,
  type User,
} from '../../endpoints/index.ts'
import { palette, xmlAttribute, xmlText } from '../../findings/index.ts'
import { silentLog } from '../../telemetry/log.ts'
import { counted, printableLines } from '../../text/index.ts'
import { append, formatOption, noSuch, untilInterrupted, wholeNumber } from '../options.ts'
import { columns, failureOf, jsonText, printErrors, wantsColor } from '../output.ts'
import { VERSION } from '../own-command.ts'
import { environmentFor, environmentOption, pathsOr, USUAL_PATHS, withVault } from '../settings.ts'

interface CheckFlags {
  settings?: string
  format: keyof typeof FORMATS
  timeout?: number
  retries: number
  concurrency: number
  start?: boolean
  call: string[]
}

export function checkEndpointsCommand(exit: (code: number) => void): Command {
  return new Command('check-endpoints')
    .description('Check that the APIs and MCP servers of configurations can be reached.')
    .argument('[paths...]', USUAL_PATHS)
    .addOption(environmentOption())
    .option('--start', 'start MCP servers over stdio and list their tools')
    .option('--call <tool>', 'call this tool for real, with sample arguments; may be repeated', append, [])
    .option(
      '--timeout <duration>',
      'time limit of each check, for example 5s (default 10s; `startupTimeout` for a process)',
      duration,
    )
    .option('--retries <number>', 'retries after a transient failure', wholeNumber(0, 999), DEFAULTS.retries)
    .option(
      '--concurrency <number>',
      'checks that run at the same time',
      wholeNumber(1, 999),
      DEFAULTS.concurrency,
    )
    .addOption(formatOption(Object.keys(FORMATS)))
    .addHelpText(
      'after',
      '\nEach host gets one HEAD or OPTIONS request.\nExit code 1: a check failed, or a configuration has errors.',
    )
    .action(async (paths: string[], flags: CheckFlags) => exit(await run(paths, flags)))
}

async function run(named: readonly string[], flags: CheckFlags): Promise<number> {
  const given = environmentFor(flags.settings)
  if (!given) return 1
  const { env, settings } = given
  const paths = pathsOr(named, settings)
  const { configurations, findings, sources } = await check(paths, given)
  for (const name of flags.call) mustBeTool(name, configurations)
  const isFaulty = printErrors(findings, sources)
  const { format: _, ...options } = flags
  const { checks, cancelled } = await withVault(flags.settings, (vault) =>
    runChecks(configurations, { ...options, env, tenants: settings?.tenants, vault }),
  )
  // "Nothing to check" would be wrong here.
  const none = cancelled && checks.length === 0 && flags.format === 'text'
  if (!none) process.stdout.write(FORMATS[flags.format](checks, wantsColor(process.stdout)))
  if (cancelled) {
    process.stderr.write('cancelled: checks that are not listed did not finish\n')
    return 2
  }
  const failed = endpointFindings(checks).some(({ severity }) => severity === 'error')
  return failed || isFaulty ? failureOf(paths) : 0
}

function mustBeTool(name: string, reads: readonly ReadConfiguration[]): void {
  const names = reads.flatMap(({ configuration }) => configuration?.tools.map((tool) => tool.name) ?? [])
  if (!names.includes(name)) throw new Error(noSuch(`--call: no tool ${name}`, name, names))
}

/** @throws InvalidArgumentError, which commander prints with the option's name */
function duration(text: string): number {
  const value = parseDuration(text)
  if (!value) throw new InvalidArgumentError('Use a duration, for example 5s or 1m.')
  return value
}

type Options = Pick<
  CheckEndpointsOptions,
  'env' | 'tenants' | 'timeout' | 'retries' | 'concurrency' | 'start' | 'call' | 'vault'
>

/** Checks endpoints with a progress bar, until Ctrl-C; unfinished checks are omitted. */
export async function runChecks(
  configurations: readonly ReadConfiguration[],
  { limits = DEFAULT_LIMITS, ...options }: Options & { limits?: Limits },
): Promise<{ checks: EndpointCheck[]; cancelled: boolean }> {
  const bar = progressBar(process.stderr, process.env)
  return untilInterrupted(async (signal) => {
    const context = { limits, log: silentLog, version: VERSION, signal, onProgress: bar.show }
    const checks = await checkEndpoints(configurations, { ...context, ...options })
    return { checks, cancelled: signal.aborted }
  }).finally(bar.clear)
}

interface ProgressBar {
  show(done: number, total: number, what: string): void
  /** Removes it from the screen. */
  clear(): void
}

const WIDTH = 20

/** A bar on the last line of a terminal; nothing elsewhere, nor in CI. */
function progressBar(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): ProgressBar {
  const shown = stream.isTTY && !env.CI && env.TERM !== 'dumb'
  if (!shown) return { show() {}, clear() {} }
  return {
    show(done, total, what) {
      const filled = Math.round((done / total) * WIDTH)
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${done}/${total} `
      const room = Math.max(0, (stream.columns || 80) - bar.length - 1)
      const name = what.replace(/[^\x20-\x7e]/g, '?').slice(0, room)
      stream.write(`\r\x1b[2K${bar}${name}`)
    },
    clear() {
      stream.write('\r\x1b[2K')
    },
  }
}

/** Output formats of checks. */
export const FORMATS = { text: checksTable, json: checksJson, junit: checksJunit }

/** Width of the status column. */
const INDENT = ' '.repeat(9)
const STATUSES: Status[] = ['ok', 'warning', 'failed', 'skipped']

/** A line for each check, with its result and users; hints below; a summary at the end. */
function checksTable(checks: readonly EndpointCheck[], color: boolean): string {
  if (checks.length === 0) return 'nothing to check: no tools and no MCP servers\n'
  const { bold, dim, red, green, yellow, cyan } = palette(color)
  const paint = { ok: green, warning: yellow, failed: red, skipped: dim }
  const rows = checks.map(({ status, endpoint, usedBy, steps }) =>
    [status.padEnd(7), endpoint, userText(usedBy), foundText(steps)].map(printableLines),
  )
  const [head = '', ...shown] = columns([['STATUS', 'ENDPOINT', 'USED BY', 'FOUND'], ...rows], [7, 50, 40])
  const lines = checks.flatMap(({ status, steps }, i) => [
    paint[status](status) + shown[i]!.slice(status.length),
    ...steps.flatMap((step) =>
      step.hint === undefined || step.status === 'ok'
        ? []
        : `${INDENT}${cyan('hint:')} ${printableLines(step.hint)}`,
    ),
  ])
  const counts = STATUSES.map(
    (status) => [status, checks.filter((one) => one.status === status).length] as const,
  )
  const parts = counts
    .filter(([, count]) => count > 0)
    .map(([status, count]) => paint[status](`${count} ${status}`))
  const total = counted(checks.length, 'endpoint')
  return `${[bold(head), ...lines].join('\n')}\n\n${total}: ${parts.join(', ')}\n`
}

/** `weather: get_forecast and 3 more`. */
function userText(users: readonly User[]): string {
  const [first] = users
  const more = users.length > 1 ? ` and ${users.length - 1} more` : ''
  return `${first!.configuration}: ${first!.name}${more}`
}

/** The faults; without faults, the findings of every step. */
function foundText(steps: readonly Step[]): string {
  const bad = steps.filter(({ status }) => status !== 'ok')
  return (bad.length ? bad : steps).map(({ name, detail }) => `${name}: ${detail}`).join('; ')
}

/** `{checks, summary: {ok, warning, failed, skipped}}` as indented JSON. */
function checksJson(checks: readonly EndpointCheck[]): string {
  const summary = Object.fromEntries(
    STATUSES.map((status) => [status, checks.filter((one) => one.status === status).length]),
  )
  const shown = checks.map(({ steps, ...check }) => ({
    ...check,
    steps: steps.map(({ transient: _, ...step }) => step),
  }))
  return jsonText({ checks: shown, summary })
}

interface Case {
  user: User
  check: EndpointCheck
}

/**
 * JUnit XML: a suite for each file, a case for each tool and MCP server. A shared check that fails, fails for all its
 * users; warnings appear only in the case's output.
 */
function checksJunit(checks: readonly EndpointCheck[]): string {
  const cases = checks.flatMap((check) => check.usedBy.map((user): Case => ({ user, check })))
  const files = [...new Set(cases.map(({ user }) => user.file))]
  const suites = files.map((file) =>
    suite(
      file,
      cases.filter(({ user }) => user.file === file),
    ),
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites${counts(cases)}>\n${suites.join('')}</testsuites>\n`
}

function counts(cases: readonly Case[]): string {
  const of = (status: string) => cases.filter(({ check }) => check.status === status).length
  return ` tests="${cases.length}" failures="${of('failed')}" errors="0" skipped="${of('skipped')}"`
}

function suite(file: string, cases: readonly Case[]): string {
  const inner = cases.map(({ user, check }) => {
    const { status, steps, endpoint, type, ms } = check
    const name = `${user.name} (${type === 'call' ? 'call' : endpoint})`
    const head = `    <testcase classname="${xmlAttribute(user.configuration)}" name="${xmlAttribute(name)}" file="${xmlAttribute(file)}" time="${(ms / 1000).toFixed(3)}"`
    const parts = [...problems(steps, status), output(steps)]
    return `${head}>\n${parts.map((part) => `      ${part}\n`).join('')}    </testcase>\n`
  })
  return `  <testsuite name="${xmlAttribute(file)}"${counts(cases)}>\n${inner.join('')}  </testsuite>\n`
}

function problems(steps: readonly Step[], status: EndpointCheck['status']): string[] {
  if (status === 'skipped') {
    const [first] = steps.filter((step) => step.status === 'skipped')
    return [`<skipped message="${xmlAttribute(first?.detail ?? '')}"/>`]
  }
  return steps
    .filter((step) => step.status === 'failed')
    .map(
      ({ code = '', detail, hint = '' }) =>
        `<failure type="${xmlAttribute(code)}" message="${xmlAttribute(detail)}">${xmlText(hint)}</failure>`,
    )
}

function output(steps: readonly Step[]): string {
  const lines = steps.map(
    ({ name, status, detail }) => `${status === 'ok' ? '' : `${status}: `}${name}: ${detail}`,
  )
  return `<system-out>${xmlText(lines.join('\n'))}</system-out>`
}
