import { Command } from 'commander'
import type { ConfigurationChange, PrefixChange } from '../build/types.ts'
import { qualifiedName, type Settings, socketPath } from '../config/index.ts'
import { printableLines } from '../findings/frame.ts'
import { askGateway, type OwnPage, pageText } from '../notify/ask-gateway.ts'
import { formatOption } from './options.ts'
import { jsonText } from './output.ts'
import { loadSettings, ownPagesOf, settingsOption } from './settings.ts'

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
  const answer = await ask(flags.url ?? ownPagesOf(settings), settings)
  const { configurations, refused } = answer
  process.stdout.write(flags.format === 'json' ? jsonText(answer) : printableLines(printed(answer)))
  return configurations.length || refused.length || hasFault(answer) ? 1 : 0
}

/** Bytes of the answer at most. */
const MAX_SIZE = 64 * 1024 * 1024

async function ask(base: string, { admin }: Settings): Promise<Answer> {
  const page = pageAt(base)
  const headers: Record<string, string> = admin?.token ? { authorization: `Bearer ${admin.token}` } : {}
  const answer = await askGateway(page, { method: 'GET', headers }, MAX_SIZE).catch(({ message }: Error) => {
    throw new Error(`${message}. Is the gateway running?`)
  })
  const url = pageText(page)
  const text = answer.body.toString('utf8')
  if (answer.status === 401)
    throw new Error(`${url} requires the admin token: give the gateway's settings with --settings`)
  try {
    const value = JSON.parse(text) as Answer
    if (answer.status === 200 && Array.isArray(value.configurations)) return value
  } catch {
    // Reported below.
  }
  throw new Error(
    `${url} answered with the status ${answer.status}, and has no pages of a gateway: check --url, and \`admin.listen\` of its settings`,
  )
}

function pageAt(base: string): OwnPage {
  const socket = socketPath(base)
  if (socket) return { url: new URL('http://localhost/_diff'), socket }
  if (!URL.canParse(base) || !/^https?:/i.test(base)) throw new Error(`${base} is not an HTTP or HTTPS URL`)
  return { url: new URL('/_diff', base) }
}

/** Such as a store that cannot be read: what a reload would do is not known then. */
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
    : `generation ${generation} would stay: nothing would change`
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
