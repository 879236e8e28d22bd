import { Command } from 'commander'
import type { ConfigurationChange, PrefixChange } from '../build/types.ts'
import type { Settings } from '../config/index.ts'
import { fetchOnce, type NetFault } from '../net/index.ts'
import { formatOption } from './options.ts'
import { jsonText } from './output.ts'
import { loadSettings, originOf } from './settings.ts'

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
    .option('-s, --settings <file>', "the gateway's settings file, such as plantgw.yaml")
    .option('--url <url>', 'address of the gateway (default: the host and port of the settings)')
    .addOption(formatOption())
    .action(async (flags: DiffFlags) => exit(await diff(flags)))
}

async function diff(flags: DiffFlags): Promise<number> {
  const { settings } = loadSettings(flags.settings)
  if (!settings) return 1
  const answer = await ask(flags.url ?? originOf(settings), settings)
  const { configurations, refused } = answer
  process.stdout.write(flags.format === 'json' ? jsonText(answer) : printed(answer))
  return configurations.length || refused.length || hasFault(answer) ? 1 : 0
}

/** Milliseconds for reading many configurations. */
const TIMEOUT = 60_000
/** Bytes of the answer at most. */
const MAX_SIZE = 64 * 1024 * 1024

async function ask(base: string, { admin }: Settings): Promise<Answer> {
  if (!URL.canParse(base) || !/^https?:/i.test(base)) throw new Error(`${base} is not an HTTP or HTTPS URL`)
  const url = new URL('/_diff', base)
  const headers: Record<string, string> = admin ? { authorization: `Bearer ${admin.token}` } : {}
  const request = { method: 'GET', origin: url.origin, path: url.pathname, headers }
  const limits = { timeout: TIMEOUT, maxSize: MAX_SIZE }
  const answer = await fetchOnce(request, limits).catch(({ message }: NetFault) => {
    throw new Error(`${message}. Is the gateway running?`)
  })
  const text = answer.body.toString('utf8')
  if (answer.status === 401)
    throw new Error(`${url} requires the admin token: give the gateway's settings with --settings`)
  try {
    const value = JSON.parse(text) as Answer
    if (answer.status === 200 && Array.isArray(value.configurations)) return value
  } catch {
    // Reported below.
  }
  throw new Error(`${url} answered with the status ${answer.status}, but is not a gateway: check --url`)
}

/** Such as a store that cannot be read: what a reload would do is not known then. */
function hasFault({ findings }: Answer): boolean {
  return findings.some(({ severity }) => severity === 'error')
}

const SIGNS = { added: '+', changed: '~', removed: '-' } as const

function printed({ generation, configurations, refused, findings }: Answer): string {
  const lines = configurations.flatMap(({ name, change, prefixes }) => [
    `${SIGNS[change]} ${name} ${change}`,
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
