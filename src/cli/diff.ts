import { Command } from 'commander'
import type { ConfigurationChange, PrefixChange } from '../build/types.ts'
import { qualifiedName } from '../config/index.ts'
import { printableLines } from '../findings/frame.ts'
import { askAdmin } from './ask-admin.ts'
import { formatOption } from './options.ts'
import { jsonText } from './output.ts'
import { adminUrlOf, loadSettings, settingsOption } from './settings.ts'

interface DiffFlags {
  settings?: string
  url?: string
  format: 'text' | 'json'
}

/** The answer of `GET /_diff`. */
interface Answer {
  generation: number
  configurations: ConfigurationChange[]
  refused: string[]
  findings: {
    severity: string
    file: string
    line?: number
    column?: number
    message: string
    hint?: string
  }[]
}

export function diffCommand(exit: (code: number) => void): Command {
  return new Command('diff')
    .description(
      'Show what a reload of the running gateway would do. Exit code 1: it would change or refuse something, or find errors.',
    )
    .addOption(settingsOption("the gateway's settings file"))
    .option(
      '--url <url>',
      'address of the gateway, or unix:PATH (default: `admin.listen` of the settings, else their host and port)',
    )
    .addOption(formatOption())
    .action(async (flags: DiffFlags) => exit(await diff(flags)))
}

async function diff(flags: DiffFlags): Promise<number> {
  const { settings } = loadSettings(flags.settings)
  if (!settings) return 1
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

function printed({ generation, configurations, refused, findings }: Answer): string {
  const lines = configurations.flatMap(({ change, prefixes, ...identity }) => [
    `${SIGNS[change]} ${qualifiedName(identity)} ${change}`,
    ...prefixes.map((one) => `    ${SIGNS[one.change]} ${one.prefix}${insideOf(one)}`),
  ])
  const told = refused.map((name) => `! ${name} refused: its current version stays in service`)
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
