import { Command } from 'commander'
import type { ConfigurationChange, PrefixChange } from '../build/types.ts'
import { qualifiedName } from '../config/index.ts'
import { printableLines } from '../text/index.ts'
import { askAdmin } from './ask-admin.ts'
import { NAME_HELP } from './config/context.ts'
import { diffStore, type StoreDiffFlags } from './config/store-diff.ts'
import { formatOption } from './options.ts'
import { jsonText } from './output.ts'
import { adminUrlOf, loadSettings, settingsOption } from './settings.ts'

interface DiffFlags extends StoreDiffFlags {
  url?: string
}

/** The answer of `GET /_diff`. */
interface Answer {
  generation: number
  configurations: ConfigurationChange[]
  refused: string[]
  /** The refused ones whose current version stays in service; absent: an older gateway, which does not say. */
  kept?: string[]
  findings: {
    severity: string
    file: string
    line?: number
    column?: number
    message: string
    hint?: string
  }[]
}

/** `plantgw diff`, and its older name `plantgw config diff`. */
export function diffCommand(exit: (code: number) => void): Command {
  return new Command('diff')
    .summary(
      'Show what a reload or `config apply` would change, or what a version of a configuration changed.',
    )
    .description(
      'Show what a reload of the running gateway would do; with -f what `config apply` would change in the store; with a name the difference of two of its versions. Exit code 1: something differs, or is refused, or has errors.',
    )
    .argument('[name]', `configuration whose versions are compared: ${NAME_HELP}`)
    .argument('[from]', 'its older version, as with --from')
    .argument('[to]', 'its newer version, as with --to')
    .addOption(settingsOption('settings file of the gateway and its `storage`'))
    .option(
      '--url <url>',
      'address of the running gateway, or unix:PATH (default: `admin.listen` of the settings, else their host and port)',
    )
    .option('-f, --file <paths...>', 'files or folders to compare with the store; - for standard input')
    .option('--from <version>', 'the older version (default: the one before --to)')
    .option('--to <version>', 'the newer version (default: the current one)')
    .option('--tenant <name>', 'only the configurations of this tenant in the store')
    .addOption(formatOption())
    .action(
      async (name: string | undefined, from: string | undefined, to: string | undefined, flags: DiffFlags) =>
        exit(await diff(name, { ...flags, from: from ?? flags.from, to: to ?? flags.to })),
    )
}

async function diff(name: string | undefined, flags: DiffFlags): Promise<number> {
  const { url, file, from, to, tenant } = flags
  if (name !== undefined && file) throw new Error('give either the name of a configuration or files with -f')
  if (name === undefined && !file) {
    if ((from ?? to ?? tenant) !== undefined)
      throw new Error('--from, --to and --tenant need the name of a configuration, or files with -f')
    return diffReload(flags)
  }
  if (url !== undefined)
    throw new Error('--url is for the running gateway, which is compared with neither versions nor files')
  return diffStore(name, flags)
}

async function diffReload(flags: DiffFlags): Promise<number> {
  const { settings, code } = loadSettings(flags.settings)
  if (!settings) return code
  const answer = await askAdmin<Answer>(flags.url ?? adminUrlOf(settings), '/_diff', settings)
  const { configurations, refused } = answer
  process.stdout.write(flags.format === 'json' ? jsonText(answer) : printableLines(printed(answer)))
  return configurations.length || refused.length || hasFault(answer) ? 1 : 0
}

/** A fault such as an unreadable store, so that the effect of a reload is unknown. */
function hasFault({ findings }: Answer): boolean {
  return findings.some(({ severity }) => severity === 'error')
}

const SIGNS = { added: '+', changed: '~', removed: '-' } as const

function printed({ generation, configurations, refused, kept = refused, findings }: Answer): string {
  const lines = configurations.flatMap(({ change, prefixes, ...identity }) => [
    `${SIGNS[change]} ${qualifiedName(identity)} ${change}`,
    ...prefixes.map((one) => `    ${SIGNS[one.change]} ${one.prefix}${insideOf(one)}`),
  ])
  const told = refused.map((name) =>
    kept.includes(name)
      ? `! ${name} refused: its current version stays in service`
      : `! ${name} refused: it is not served`,
  )
  const faults = findings
    .filter(({ severity }) => severity === 'error')
    .flatMap(({ file, line, column, message, hint }) => [
      `${[file, line, column].filter((part) => part !== undefined).join(':')}: error: ${message}`,
      ...(hint ? [`  hint: ${hint}`] : []),
    ])
  const end = configurations.length
    ? `a reload would make generation ${generation + 1}`
    : `a reload would change nothing (generation ${generation})`
  return `${[...lines, ...told, ...faults, end].join('\n')}\n`
}

function insideOf({ tools, servers }: PrefixChange): string {
  const names = (['added', 'changed', 'removed'] as const).flatMap((kind) =>
    tools[kind].map((name) => SIGNS[kind] + name),
  )
  const parts = [
    ...(names.length ? [`tools ${names.join(' ')}`] : []),
    ...(servers ? [`MCP servers ${servers.join(', ')}`] : []),
  ]
  return parts.length ? `: ${parts.join('; ')}` : ''
}
