import { Command } from 'commander'
import { isForeign } from '../../build/advice.ts'
import { check, rulesOf } from '../../build/check-configurations.ts'
import { readSettings } from '../../checks/index.ts'
import { secretsIn } from '../../checks/practice/index.ts'
import { DEFAULT_LIMITS, type ReadConfiguration, type Settings } from '../../config/index.ts'
import { connectionFindings, machineFindings } from '../../endpoints/needs.ts'
import { type CheckName, CODES, checkOf, type Finding, type FindingCode } from '../../findings/index.ts'
import { environmentOf } from '../env-files.ts'
import { localEnvironment, settingsOption, settingsSource } from '../settings.ts'
import { fixFiles, printFixed } from './fix.ts'
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
    .description('Find the errors of configurations before they are served.')
    .argument(
      '[paths...]',
      'configuration files or folders; - for standard input; absent: the settings, and the folder that their `storage` names',
    )
    .addOption(settingsOption('also check this settings file'))
    .option('--fix', 'apply unambiguous fixes first; with "-", print the fixed file')
    .option('--endpoints', 'also check that endpoints can be reached, as check-endpoints does')
    .option(
      '--all',
      'run every check, including endpoints and the databases and brokers of settings and configurations',
    )
  return withReportOptions(withLintConfig(withCheckOptions(command))).action(
    async (paths: string[], flags: ValidateFlags) => exit(await validate(paths, flags)),
  )
}

/** `validate`, for templates only. */
export function lintTemplatesCommand(exit: (code: number) => void): Command {
  const command = new Command('lint-templates')
    .description('Find mistakes in templates: names, operators, quotes, and bodies that are not JSON.')
    .argument('<paths...>', 'configuration files or folders; - for standard input')
    .option('--fix', 'apply unambiguous fixes first; with "-", print the fixed file')
  return withReportOptions(withLintConfig(command)).action(
    async (paths: string[], flags: ReportFlags & PolicyFlags & { fix?: boolean }) =>
      exit(await validate(paths, flags, { has: isOfTemplates, hasFinding: isUnquoted })),
  )
}

/** Whether a finding of another check concerns templates. */
function isOfTemplates(code: FindingCode): boolean {
  return code === 'form-data-with-body' || code === 'env-unset' || checkOf(code) === 'templates'
}

/** Findings caused by a template without quotes. */
const UNQUOTED: ReadonlySet<FindingCode> = new Set(['wrong-type', 'not-json', 'yaml-syntax'])

/** YAML reads an unquoted template as a map on the lines below the key. */
function isUnquoted({ code, range }: Finding, text: string | undefined): boolean {
  if (!UNQUOTED.has(code) || !range || text === undefined) return false
  const { offset, column } = range.start
  const [first = '', ...lines] = text.slice(offset - column + 1).split('\n')
  const end = lines.findIndex((line) => line.trim() !== '' && line.search(/\S/) < column)
  return [first, ...(end < 0 ? lines : lines.slice(0, end))].some((line) => line.includes('{{'))
}

/** A selection of findings. */
interface Scope {
  has(code: FindingCode): boolean
  /** Whether it includes a finding of another code. */
  hasFinding(found: Finding, text: string | undefined): boolean
}

const EVERYTHING: Scope = { has: () => true, hasFinding: () => true }

/**
 * @param given paths of configurations; none: those of the settings
 * @returns the exit code
 */
async function validate(
  given: readonly string[],
  flags: ValidateFlags,
  scope: Scope = EVERYTHING,
): Promise<number> {
  const source = scope === EVERYTHING ? settingsSource(flags.settings) : undefined
  const read = source && readSettings(source, process.env)
  const { settings, findings: ofSettings = [] } = read ?? {}
  const env = settings ? environmentOf(settings) : localEnvironment()
  if (given.length === 0 && !source) throw new Error('name configurations, or a settings file by --settings')
  const paths = given.length > 0 ? given : pathsOf(settings)
  const policy = readPolicy(paths, flags)
  const within = (found: Finding, text: string | undefined) =>
    scope.has(found.code) || scope.hasFinding(found, text)
  const fixed = flags.fix
    ? await fixFiles(paths, env, rulesOf(settings), (findings, { file, text }) => {
        const inScope = findings.filter((found) => within(found, text))
        return policy.apply(inScope, new Map([[file, text]]), new Set(), () => false)
      })
    : { lines: '', stdin: undefined }
  const { stdin } = fixed
  const { findings, sources, unread, configurations } = await check(paths, {
    env,
    ...(stdin !== undefined && { stdin: () => Buffer.from(stdin) }),
    ...(settings && { settings }),
    ...(scope.has('file-name') && {
      practice: { ...policy.config.limits, production: isProduction(settings) },
    }),
  })
  const asks = asking(flags)
  const placed = source && read && settings && { settings, file: source.file, locate: read.locate }
  const reached = asks('endpoints') ? await endpoints(configurations, settings?.limits) : []
  const connected = asks('connections') ? await connectionFindings(placed, configurations) : []
  const besides = [source, policy.source].flatMap((one) => one ?? [])
  const texts = new Map([...besides.map(({ file, text }) => [file, text] as const), ...sources])
  const all = [
    ...policy.findings,
    ...ofSettings,
    ...(source && read && !isForeign(read) ? secretsIn(source) : []),
    ...machineFindings(placed, configurations),
    ...findings.filter(
      (found) =>
        within(found, sources.get(found.file)) || (found.severity === 'error' && unread.has(found.file)),
    ),
    ...connected,
    ...reached,
  ]
  const broken = [...(source && !settings ? [source.file] : []), ...policy.findings.map(({ file }) => file)]
  const ran = (code: FindingCode) => scope.has(code) && asks(checkOf(code))
  // Comments also silence findings in files whose text is not shown.
  const whole = new Map([...texts, ...configurations.map(({ file, text }) => [file, text] as const)])
  const selected = policy.apply(all, whole, new Set([...unread, ...broken]), ran)
  // Without other files, the settings themselves count.
  const files = sources.size + (given.length > 0 ? 0 : 1)
  const { text, code } = report(selected, texts, flags, `${fileCount(files)}, nothing wrong`)
  printFixed(text, fixed, flags.format)
  return code
}

/** The configuration folder in the settings. */
function pathsOf(settings: Settings | undefined): string[] {
  return settings?.storage?.type === 'directory' ? [settings.storage.path] : []
}

/** Which checks run: those that use the network only if named, or with `--all`. */
function asking({ endpoints, all, only = [], skip = [] }: ValidateFlags): (check: CheckName) => boolean {
  const named = (check: CheckName) =>
    only.some((name) => name === check || (name in CODES && checkOf(name as FindingCode) === check))
  return (check) => {
    if (check !== 'endpoints' && check !== 'connections') return true
    const asked = all || (endpoints && check === 'endpoints') || named(check)
    return !skip.includes(check) && asked === true
  }
}

/** Loaded on demand, as loading takes longer than most checks. */
async function endpoints(read: readonly ReadConfiguration[], limits = DEFAULT_LIMITS): Promise<Finding[]> {
  const { runChecks } = await import('../check-endpoints/check-endpoints.ts')
  const { endpointFindings } = await import('../../endpoints/index.ts')
  const { checks, cancelled } = await runChecks(read, { limits })
  if (cancelled) throw new Error('cancelled')
  return endpointFindings(checks)
}

/** Whether the gateway will be reachable from other machines, or the environment says production. */
function isProduction(settings: Settings | undefined): boolean {
  const local = !settings || /^(?:localhost|127\.[\d.]+|::1)$/i.test(settings.host)
  return !local || process.env.NODE_ENV === 'production'
}
