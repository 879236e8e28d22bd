import {
  checkTogether,
  DEFAULT_LIMITS,
  type ReadConfigurationsResult,
  readConfiguration,
  readConfigurations,
  type Settings,
  type Source,
} from '../config/index.ts'
import { createLog } from '../telemetry/log.ts'
import { createPools } from '../tools/index.ts'
import { assemble } from './assemble.ts'
import { mayClash } from './beside.ts'
import { type Loaded, reservedPaths } from './gateway.ts'

export interface CheckOptions {
  env: Readonly<Record<string, string | undefined>>
  /** What the gateway will run with, as far as it is known. */
  settings?: Pick<Settings, 'plants' | 'limits'>
  /** Text of standard input, for the path `-`. */
  stdin?: () => Uint8Array
}

/** Finds all that `serve` would find in these files and folders, without serving or calling anything. */
export async function check(
  paths: readonly string[],
  { stdin, ...options }: CheckOptions,
): Promise<Loaded & { files: number }> {
  const reserved = options.settings ? reservedPaths(options.settings) : reservedPaths({})
  const reading = await readConfigurations(paths, options.env, { reserved, ...(stdin && { stdin }) })
  return { ...(await checkReading(reading, options)), files: reading.sources.size }
}

/**
 * The same of configurations that were read already.
 * @param beside what will be served besides; what is wrong with it, or only within it, is not told
 */
export async function checkReading(
  reading: ReadConfigurationsResult,
  { env, settings = { limits: DEFAULT_LIMITS } }: CheckOptions,
  beside: readonly Source[] = [],
): Promise<Loaded> {
  const own = new Set(reading.sources.keys())
  const fresh = reading.configurations.flatMap(({ configuration }) => configuration ?? [])
  const others = mayClash(fresh, beside).map((source) => readConfiguration(source, env))
  const together = others.length
    ? checkTogether([...others, ...reading.configurations], { reserved: reservedPaths(settings) })
    : []
  const findings = [...reading.findings, ...together.filter(({ file }) => own.has(file))]
  const log = await createLog({ level: 'silent', format: 'json' })
  const context = { env, limits: settings.limits, pools: createPools(), log, version: '', proxies: new Map() }
  const made = assemble({ ...reading, findings }, new Map(), context)
  const sources = new Map([...reading.sources, ...beside.map(({ file, text }) => [file, text] as const)])
  return { findings: made.findings, sources }
}
