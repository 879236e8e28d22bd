import { Command } from 'commander'
import { check } from '../../build/check.ts'
import { rulesOf } from '../../build/rules.ts'
import { readSettings } from '../../checks/index.ts'
import { secretsIn } from '../../checks/practice/index.ts'
import { DEFAULT_LIMITS, type ReadConfiguration, type Settings } from '../../config/index.ts'
import { pidFindings } from '../../endpoints/pid.ts'
import { type CheckName, CODES, checkOf, type Finding, type FindingCode } from '../../findings/index.ts'
import { settingsSource } from '../settings.ts'
import { printMended } from './mend.ts'
import { type PolicyFlags, readPolicy, withCheckOptions, withLintConfig } from './policy.ts'
import { fileCount, type ReportFlags, report, withReportOptions } from './report.ts'

interface ValidateFlags extends ReportFlags, PolicyFlags {
  settings?: string
  endpoints?: boolean
  all?: boolean
  fix?: boolean
}

export function validateCommand(exit: (code: number) => void): Command {
  const command = new Command('validate')
    .description('Find what is wrong with configurations before they are served.')
    .argument('<paths...>', 'configuration files, and folders of them; - for standard input')
    .option('-s, --settings <file>', 'check this settings file too')
    .option('--fix', 'mend first what leaves no doubt; what came in by - is written to standard output')
    .option('--endpoints', 'check too that what is called can be reached, as check-endpoints does')
    .option(
      '--all',
      'everything: endpoints too, and the databases and brokers of settings and configurations',
    )
  return withReportOptions(withLintConfig(withCheckOptions(command))).action(
    async (paths: string[], flags: ValidateFlags) => exit(await validate(paths, flags)),
  )
}

async function validate(paths: readonly string[], flags: ValidateFlags): Promise<number> {
  const policy = readPolicy(paths, flags)
  const source = settingsSource(flags.settings)
  const read = source && readSettings(source, process.env)
  const { settings, findings: ofSettings = [] } = read ?? {}
  const rules = rulesOf(settings ?? {})
  // Only where it is asked for: it takes its time to load.
  const mender = flags.fix ? await import('./validate-fix.ts') : undefined
  const mended = await mender?.mendFiles(paths, process.env, rules, policy)
  const stdin = mended?.stdin
  const { findings, sources, unread, configurations } = await check(paths, {
    env: process.env,
    ...(stdin !== undefined && { stdin: () => Buffer.from(stdin) }),
    ...(settings && { settings }),
    practice: { ...policy.config.limits, production: isProduction(settings) },
  })
  const asks = asking(flags)
  const placed = source && read && settings && { settings, file: source.file, locate: read.locate }
  const reached = asks('endpoints') ? await endpoints(configurations, settings?.limits) : []
  // What asks over the network takes longer to load than most configurations to check.
  const asker = asks('connections') ? await import('../../endpoints/index.ts') : undefined
  const connected = (await asker?.connectionFindings(placed, configurations)) ?? []
  const besides = [source, policy.source].flatMap((one) => one ?? [])
  const texts = new Map([...besides.map(({ file, text }) => [file, text] as const), ...sources])
  const all = [
    ...policy.findings,
    ...ofSettings,
    ...(source ? secretsIn(source) : []),
    ...(placed ? pidFindings(placed) : []),
    ...findings,
    ...connected,
    ...reached,
  ]
  const broken = [...(source && !settings ? [source.file] : []), ...policy.findings.map(({ file }) => file)]
  const ran = (code: FindingCode) => asks(checkOf(code))
  // Comments silence findings also in files whose text is not shown.
  const whole = new Map([...texts, ...configurations.map(({ file, text }) => [file, text] as const)])
  const told = policy.apply(all, whole, new Set([...unread, ...broken]), ran)
  const { text, code } = report(told, texts, flags, `${fileCount(sources.size)}, nothing wrong`)
  printMended(text, mended ?? { lines: '', stdin: undefined }, flags.format)
  return code
}

/** Which checks are made: those that go over the network only where they are named, or all are. */
function asking({ endpoints, all, only = [], skip = [] }: ValidateFlags): (check: CheckName) => boolean {
  const named = (check: CheckName) =>
    only.some((name) => name === check || (name in CODES && checkOf(name as FindingCode) === check))
  return (check) => {
    if (check !== 'endpoints' && check !== 'connections') return true
    const asked = all || (endpoints && check === 'endpoints') || named(check)
    return !skip.includes(check) && asked === true
  }
}

async function endpoints(read: readonly ReadConfiguration[], limits = DEFAULT_LIMITS): Promise<Finding[]> {
  const { runChecks } = await import('../check-endpoints/run.ts')
  const { endpointFindings } = await import('../../endpoints/index.ts')
  const { checks, cancelled } = await runChecks(read, { limits })
  if (cancelled) throw new Error('cancelled')
  return endpointFindings(checks)
}

/** Beyond this machine, or as the environment says. */
function isProduction(settings: Settings | undefined): boolean {
  const local = !settings || /^(?:localhost|127\.[\d.]+|::1)$/i.test(settings.host)
  return !local || process.env.NODE_ENV === 'production'
}
