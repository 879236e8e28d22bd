import { Command, InvalidArgumentError, Option } from 'commander'
import { check } from '../../build/check-configurations.ts'
import { parseDuration, type ReadConfiguration } from '../../config/index.ts'
import { DEFAULTS, type EndpointCheck, endpointFindings } from '../../endpoints/index.ts'
import { nearest } from '../../text/index.ts'
import { printFindings, wantsColor } from '../output.ts'
import { checksJson, checksTable } from './check-table.ts'
import { checksJunit } from './junit.ts'
import { runChecks } from './run.ts'

interface CheckFlags {
  format: 'text' | 'json' | 'junit'
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
    .option('--call <tool>', 'call this tool for real, with sample arguments; may be repeated', addTo, [])
    .option(
      '--timeout <duration>',
      'time limit of each check, for example 5s (default 10s; `startupTimeout` for a process)',
      duration,
    )
    .option('--retries <number>', 'retries after a transient failure', wholeFrom(0), DEFAULTS.retries)
    .option('--concurrency <number>', 'checks that run at the same time', wholeFrom(1), DEFAULTS.concurrency)
    .addOption(
      new Option('--format <format>', 'output format').choices(['text', 'json', 'junit']).default('text'),
    )
    .addHelpText(
      'after',
      '\nEach host gets one HEAD or OPTIONS request. Exit code 1: a check failed, or a configuration has errors.',
    )
    .action(async (paths: string[], flags: CheckFlags) => exit(await run(paths, flags)))
}

async function run(paths: readonly string[], flags: CheckFlags): Promise<number> {
  const { configurations, findings, sources } = await check(paths, { env: process.env })
  const errors = findings.filter(({ severity }) => severity === 'error')
  for (const name of flags.call) mustBeTool(name, configurations)
  if (errors.length) printFindings(errors, sources)
  const { format: _, ...options } = flags
  const { checks, cancelled } = await runChecks(configurations, options)
  // That there is nothing to check would not be true.
  const none = cancelled && checks.length === 0 && flags.format === 'text'
  if (!none) process.stdout.write(printed(checks, flags))
  if (cancelled) {
    process.stderr.write('cancelled: checks that are not listed did not finish\n')
    return 2
  }
  const failed = endpointFindings(checks).some(({ severity }) => severity === 'error')
  return failed || errors.length ? 1 : 0
}

function printed(checks: readonly EndpointCheck[], { format }: CheckFlags): string {
  if (format === 'json') return checksJson(checks)
  if (format === 'junit') return checksJunit(checks)
  return checksTable(checks, wantsColor(process.stdout))
}

function mustBeTool(name: string, reads: readonly ReadConfiguration[]): void {
  const names = reads.flatMap(({ configuration }) => configuration?.tools.map((tool) => tool.name) ?? [])
  if (names.includes(name)) return
  const close = nearest(name, names)
  throw new Error(`--call: no tool ${name}${close ? `: did you mean ${close}?` : ''}`)
}

function addTo(given: string, before: readonly string[]): string[] {
  return [...before, given]
}

/** @throws InvalidArgumentError, which commander prints with the option's name */
function duration(text: string): number {
  const value = parseDuration(text)
  if (!value) throw new InvalidArgumentError('Use a duration, for example 5s or 1m.')
  return value
}

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,3}$/.test(text) || Number(text) < least)
      throw new InvalidArgumentError(`Use a whole number from ${least} to 999.`)
    return Number(text)
  }
}
