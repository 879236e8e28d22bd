import { Command, InvalidArgumentError } from 'commander'
import { check } from '../../build/check-configurations.ts'
import { DEFAULT_LIMITS, type Limits, parseDuration, type ReadConfiguration } from '../../config/index.ts'
import {
  type CheckEndpointsOptions,
  checkEndpoints,
  DEFAULTS,
  type EndpointCheck,
  endpointFindings,
} from '../../endpoints/index.ts'
import { silentLog } from '../../telemetry/silent.ts'
import { append, formatOption, noSuch, untilInterrupted, wholeNumber } from '../options.ts'
import { printFindings, wantsColor } from '../output.ts'
import { localEnvironment } from '../settings.ts'
import { VERSION } from '../version.ts'
import { FORMATS } from './formats.ts'

interface CheckFlags {
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
    .argument('<paths...>', 'configuration files or folders; - for standard input')
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
      '\nEach host gets one HEAD or OPTIONS request. Exit code 1: a check failed, or a configuration has errors.',
    )
    .action(async (paths: string[], flags: CheckFlags) => exit(await run(paths, flags)))
}

async function run(paths: readonly string[], flags: CheckFlags): Promise<number> {
  const { configurations, findings, sources } = await check(paths, { env: localEnvironment() })
  const errors = findings.filter(({ severity }) => severity === 'error')
  for (const name of flags.call) mustBeTool(name, configurations)
  if (errors.length) printFindings(errors, sources)
  const { format: _, ...options } = flags
  const { checks, cancelled } = await runChecks(configurations, options)
  // "Nothing to check" would be wrong here.
  const none = cancelled && checks.length === 0 && flags.format === 'text'
  if (!none) process.stdout.write(FORMATS[flags.format](checks, wantsColor(process.stdout)))
  if (cancelled) {
    process.stderr.write('cancelled: checks that are not listed did not finish\n')
    return 2
  }
  const failed = endpointFindings(checks).some(({ severity }) => severity === 'error')
  return failed || errors.length ? 1 : 0
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

type Options = Pick<CheckEndpointsOptions, 'timeout' | 'retries' | 'concurrency' | 'start' | 'call'>

/** Checks endpoints with a progress bar, until Ctrl-C; unfinished checks are omitted. */
export async function runChecks(
  configurations: readonly ReadConfiguration[],
  { limits = DEFAULT_LIMITS, ...options }: Options & { limits?: Limits } = {},
): Promise<{ checks: EndpointCheck[]; cancelled: boolean }> {
  const { env, stderr } = process
  const bar = progressBar(stderr, env)
  return untilInterrupted(async (signal) => {
    const context = { env, limits, log: silentLog, version: VERSION, signal, onProgress: bar.show }
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
