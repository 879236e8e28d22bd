import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { isForeign } from '../../build/advice.ts'
import { check, rulesOf } from '../../build/check-configurations.ts'
import { type Fixed, fixFile } from '../../checks/fix.ts'
import { type CheckOptions, checkTogether, readConfigurations, readSettings } from '../../checks/index.ts'
import { lintPractice, secretsIn } from '../../checks/practice/index.ts'
import { lintTemplates } from '../../checks/templates/index.ts'
import {
  DEFAULT_LIMITS,
  type Env,
  LINT_CONFIG_FILE,
  type LintConfig,
  leadsOutside,
  outsideFinding,
  type ReadConfiguration,
  readLintConfig,
  type Settings,
  type Source,
} from '../../config/index.ts'
import { isFile } from '../../config/plain-file.ts'
import { connectionFindings, machineFindings } from '../../endpoints/needs.ts'
import {
  applyIgnores,
  CHECKS,
  type CheckName,
  CODES,
  checkOf,
  type Finding,
  type FindingCode,
  select,
} from '../../findings/index.ts'
import { counted, nearest, printableLines } from '../../text/index.ts'
import { environmentOf } from '../env-files.ts'
import { failureOf, rewrite } from '../output.ts'
import {
  environmentFor,
  environmentOption,
  namedSource,
  settingsOption,
  settingsSource,
  USUAL_PATHS,
  usualPaths,
} from '../settings.ts'
import { type ReportFlags, report, withReportOptions } from './report.ts'

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
      'configuration files or folders; - for standard input (default: the settings and the folder of their `storage`, else configs/)',
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
    .argument('[paths...]', USUAL_PATHS)
    .addOption(environmentOption())
    .option('--fix', 'apply unambiguous fixes first; with "-", print the fixed file')
  return withReportOptions(withLintConfig(command)).action(async (paths: string[], flags: ValidateFlags) =>
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
  const isWhole = scope === EVERYTHING
  const source = isWhole ? settingsSource(flags.settings) : undefined
  const read = source && readSettings(source, process.env)
  const { settings, findings: ofSettings = [] } = read ?? {}
  const known = isWhole ? { env: environmentOf(settings ?? {}), settings } : environmentFor(flags.settings)
  if (!known) return 1
  const { env } = known
  const paths = given.length > 0 ? given : read && !settings ? [] : usualPaths(known.settings ?? {})
  if (paths.length === 0 && !source)
    throw new Error('nothing to validate: pass files or folders, or --settings')
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
  const reached = asks('endpoints') ? await endpoints(configurations, env, settings) : []
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
  // Without named files, the settings themselves count.
  const files = sources.size + (given.length > 0 || !source ? 0 : 1)
  const { text, code } = report(selected, texts, flags, `${counted(files, 'file')}, nothing wrong`)
  printFixed(text, fixed, flags.format)
  return code && failureOf(given)
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
async function endpoints(
  read: readonly ReadConfiguration[],
  env: Env,
  { limits = DEFAULT_LIMITS, tenants }: Partial<Pick<Settings, 'limits' | 'tenants'>> = {},
): Promise<Finding[]> {
  const { runChecks } = await import('../check-endpoints/check-endpoints.ts')
  const { endpointFindings } = await import('../../endpoints/index.ts')
  const { checks, cancelled } = await runChecks(read, { env, limits, tenants })
  if (cancelled) throw new Error('cancelled')
  return endpointFindings(checks)
}

/** Whether the gateway will be reachable from other machines, or the environment says production. */
function isProduction(settings: Settings | undefined): boolean {
  const local = !settings || /^(?:localhost|127\.[\d.]+|::1)$/i.test(settings.host)
  return !local || process.env.NODE_ENV === 'production'
}

/** Result of `--fix`. */
interface FixedFiles {
  /** A line for each fix. */
  lines: string
  /** The fixed text of standard input, if that was read. */
  stdin: string | undefined
}

/**
 * Fixes files in place if unambiguous: names one edit away from the only candidate, slashes of prefixes, quotes of
 * truth values, what tools repeat. Comments and layout stay.
 * @param wanted findings that may be fixed
 */
export async function fixFiles(
  paths: readonly string[],
  env: Env,
  rules: CheckOptions,
  wanted: (findings: Finding[], read: ReadConfiguration) => Finding[],
): Promise<FixedFiles> {
  const find = (read: ReadConfiguration) =>
    wanted(
      [
        ...read.findings,
        ...checkTogether([read], rules),
        ...lintTemplates(read, env),
        ...lintPractice(read, rules),
      ],
      read,
    )
  let lines = ''
  let stdin: string | undefined
  for (const read of (await readConfigurations(paths, env)).configurations) {
    const { read: now, fixed } = fixFile(read, env, find)
    lines += fixed.map(fixedLine).join('')
    if (read.file === '-') stdin = now.text
    else if (fixed.length > 0) await rewrite(read.file, read.text, now.text)
  }
  return { lines, stdin }
}

/**
 * Prints the fixes, then the report. If the fixed text goes to standard output, both go to standard error; a
 * machine-readable report stays complete.
 */
export function printFixed(
  report: string,
  { lines, stdin }: FixedFiles,
  format: ReportFlags['format'],
): void {
  if (stdin !== undefined) process.stdout.write(stdin)
  const out = stdin === undefined ? process.stdout : process.stderr
  const ofFixes = format === 'text' ? out : process.stderr
  ofFixes.write(lines)
  out.write(report)
}

/** `a.yaml:3:5: fixed: `/user/` → `/user``, with a line feed. */
function fixedLine({ finding: { file, fix, code, message }, was, now }: Fixed): string {
  const { line, column } = fix!.range.start
  const what = was.includes('\n') ? `${message} [${code}]` : `\`${was}\` → \`${now}\``
  const place = `${file === '-' ? '<stdin>' : file}:${line}:${column}`
  return `${printableLines(`${place}: fixed: ${what}`)}\n`
}

/** Flags that select findings. */
export interface PolicyFlags {
  only?: string[]
  skip?: string[]
  lintConfig?: string
}

/** Adds the options that select checks. */
export function withCheckOptions(command: Command): Command {
  const checks = Object.keys(CHECKS).join(', ')
  return command
    .option('--only <checks>', `run only these checks (${checks}) or codes (comma-separated)`, names, [])
    .option('--skip <checks>', 'skip these checks or codes (comma-separated)', names, [])
}

/** Adds the option of the lint configuration. */
export function withLintConfig(command: Command): Command {
  return command.option(
    '--lint-config <file>',
    `lint configuration (default: ${LINT_CONFIG_FILE} in this folder or beside the first path)`,
  )
}

/** @throws Error for an unknown check or code */
function names(text: string, before: readonly string[]): string[] {
  const known = [...Object.keys(CHECKS), ...Object.keys(CODES)]
  const given = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  const unknown = given.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const close = nearest(unknown, known)
    const hint = close ? `did you mean ${close}?` : `checks are ${Object.keys(CHECKS).join(', ')}`
    throw new Error(`unknown check or code ${JSON.stringify(unknown)}: ${hint}`)
  }
  return [...before, ...given]
}

interface Policy {
  config: LintConfig
  /** Findings about the lint configuration itself. */
  findings: Finding[]
  source: Source | undefined
  /**
   * Removes findings silenced by comments, flags and the lint configuration, and sets severities; sorted.
   * @param unread unreadable files
   * @param ran whether a code was checked
   */
  apply(
    findings: readonly Finding[],
    sources: ReadonlyMap<string, string>,
    unread: ReadonlySet<string>,
    ran: (code: FindingCode) => boolean,
  ): Finding[]
}

/** @throws Error if the file of `--lint-config` is unreadable */
export function readPolicy(paths: readonly string[], flags: PolicyFlags): Policy {
  const read = namedSource(flags.lintConfig ?? findLintConfig(paths), 'lint configuration')
  const { config = { severity: {}, limits: {} }, findings: all } = readLintConfig(read, process.env)
  // A discovered file may be a link planted by anyone who can write to the folder.
  const isHidden =
    read !== undefined && flags.lintConfig === undefined && leadsOutside(read.file, dirname(read.file))
  const source = isHidden ? { file: read.file, text: '' } : read
  const findings = isHidden && all.length > 0 ? [outsideFinding(read.file)] : all
  const selection = { only: flags.only ?? [], skip: flags.skip ?? [], severity: config.severity }
  return {
    config,
    findings,
    source,
    apply(found, sources, unread, ran) {
      const isKnown = (code: FindingCode, file: string) => ran(code) && !unread.has(file)
      return select(applyIgnores(found, sources, { ran: isKnown }), selection, unread)
    },
  }
}

function findLintConfig([first = '.']: readonly string[]): string | undefined {
  const folders = ['.', first, dirname(first)]
  return folders.map((folder) => join(folder, LINT_CONFIG_FILE)).find(isFile)
}
