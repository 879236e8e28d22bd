import { readFileSync } from 'node:fs'
import {
  type Env,
  filesAt,
  mayBeConfiguration,
  noFiles,
  outsideFinding,
  type ReadConfiguration,
  type ReadConfigurationsResult,
  readFiles,
  type Source,
  unreadSettings,
} from '../config/index.ts'
import { decode, unreadable } from '../config/loader.ts'
import { DEFAULT_TENANT } from '../config/model.ts'
import { fileTooLarge, limited, parseConfiguration, readSchemaFile } from '../config/read.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import { MAX_TENANT_FILE } from '../config/yaml/syntax.ts'
import { type Finding, finding, hasErrors, NOWHERE, sortFindings } from '../findings/index.ts'
import { isObject, type Json, textsIn } from '../json/index.ts'
import { inOneGo } from '../telemetry/loop-delay.ts'
import { inTurns, pause } from '../text/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { FIELD_CHECKS } from './fields/index.ts'
import { checkOne, type OwnResult, togetherSteps } from './together.ts'

/**
 * Reads one configuration, and checks how its fields fit each other; `checkTogether` checks what its names refer to.
 * Never throws.
 */
export function readConfiguration(source: Source, env: Env, options: CheckOptions = {}): ReadConfiguration {
  const { tenants } = options
  const tenant = tenants ? writtenTenant(source) : DEFAULT_TENANT
  if (tenant !== DEFAULT_TENANT && isLarge(source))
    return refusedFile(source, [fileTooLarge(source, MAX_TENANT_FILE)])
  const { file } = source
  const read = inOneGo('read a configuration', file, () =>
    parseConfiguration(source, envOfTenant(env, tenant, tenants)),
  )
  if (!read.configuration) return read
  const long = tenant === DEFAULT_TENANT ? undefined : longTemplate(read)
  if (long) return refusedFile(source, limited([...read.findings, long], file))
  const found = inOneGo('check a configuration', file, () => runChecks(FIELD_CHECKS, read as Read, options))
  if (tenants && read.configuration.tenant !== tenant) found.push(variableTenant(read))
  return found.length === 0 ? read : { ...read, findings: limited([...read.findings, ...found], file) }
}

/** Escapes, aliases and merges may produce a key that the text does not contain. */
const MAY_NAME_TENANT = /tenant|[\\*<]/

/** `tenant` as a line of its own. */
const TENANT_LINE = /^(["']?)tenant\1[ \t]*:[ \t]*(["']?)([\w.-]+)\2[ \t\r]*$/m

function isLarge({ text }: Source): boolean {
  return Buffer.byteLength(text) > MAX_TENANT_FILE
}

/**
 * The tenant that a text names, with no variable replaced: the variables that a file may read depend on its tenant.
 * The default tenant if the key is absent or malformed.
 */
export function writtenTenant(source: Source): string {
  if (!MAY_NAME_TENANT.test(source.text)) return DEFAULT_TENANT
  // A large file of a tenant is refused, so it need not be parsed.
  const line = isLarge(source) ? TENANT_LINE.exec(source.text)?.[3] : undefined
  if (line !== undefined && line !== DEFAULT_TENANT) return line
  const { value } = readSchemaFile(source, {}, 'configuration')
  const tenant = isObject(value) ? value.tenant : undefined
  return typeof tenant === 'string' ? tenant : DEFAULT_TENANT
}

/** The result for a file that is refused as a whole. */
function refusedFile(source: Source, findings: Finding[]): ReadConfiguration {
  return { ...source, configuration: undefined, findings, locate: NOWHERE, isRepaired: () => false }
}

/** Maximum actions of a template of a tenant, as compiling one is not interrupted. */
const MAX_ACTIONS = 2_000

/** The finding for the first text that has too many actions. */
function longTemplate({ configuration, file, locate }: ReadConfiguration): Finding | undefined {
  const long = [...textsIn(configuration as unknown as Json)].find(
    ([text]) => text.split('{{', MAX_ACTIONS + 2).length > MAX_ACTIONS + 1,
  )
  if (!long) return undefined
  const range = locate(long[1])
  return finding('tenant-templates', file, 'a template of a tenant has at most 2,000 actions', {
    ...(range && { range }),
    hint: 'Shorten it, or build the text in the API',
  })
}

function variableTenant({ file, locate }: ReadConfiguration): Finding {
  const range = locate(['tenant'])
  return finding('tenant-variable', file, 'an environment variable decides the tenant', {
    ...(range && { range }),
    hint: 'Write the name of the tenant out',
  })
}

export interface ReadConfigurationsOptions extends CheckOptions {
  /** Bytes of standard input, for the path `-`. Default: reads file descriptor 0. */
  stdin?: () => Uint8Array
  /** A reader with the same environment and options, whose results are reused. */
  reader?: Reader
}

/**
 * Reads files and folders, checks each of them and all together. Never throws.
 * @param paths a folder stands for the files that `filesOf` finds; `-` is standard input; a file that is named twice is
 *   read once
 */
export async function readConfigurations(
  paths: readonly string[],
  env: Env,
  options: ReadConfigurationsOptions = {},
): Promise<ReadConfigurationsResult> {
  const { reader = createReader(env, options) } = options
  const findings: Finding[] = []
  const { found, names, asked, outside } = await filesAt(paths, findings)
  const configurations: ReadConfiguration[] = []
  /** Files in folders that are no configurations. */
  const others = new Set<string>()
  for await (const source of sourcesOf(names, options, findings)) {
    if (!source) continue
    if (!asked.has(source.file) && !mayBeConfiguration(source)) others.add(source.file)
    else configurations.push(withoutDetailsOutside(await reader.read(source), outside))
  }
  for (const read of configurations) findings.push(...read.findings)
  findings.push(...[...others].flatMap((file) => unreadSettings(file, env) ?? []))
  for (const [path, all] of found)
    if (all.length > 0 && all.every((file) => others.has(file))) findings.push(noFiles(path))
  findings.push(...(await reader.together(configurations.filter((read) => !isOutside(read)))))
  return {
    configurations,
    findings: sortFindings(findings),
    sources: new Map(configurations.map(({ file, text }) => [file, outside.has(file) ? '' : text])),
  }
}

async function* sourcesOf(
  names: readonly string[],
  options: ReadConfigurationsOptions,
  findings: Finding[],
): AsyncGenerator<Source | undefined> {
  const stdin = names.indexOf('-')
  if (stdin < 0) return yield* readFiles(names, findings)
  yield* readFiles(names.slice(0, stdin), findings)
  yield readStdin(options, findings)
  yield* readFiles(names.slice(stdin + 1), findings)
}

/** Replaces the findings of a faulty file outside of the folder by one without details. */
function withoutDetailsOutside(read: ReadConfiguration, outside: ReadonlySet<string>): ReadConfiguration {
  if (!outside.has(read.file) || (read.configuration && !hasErrors(read.findings))) return read
  return { ...read, text: '', configuration: undefined, findings: [outsideFinding(read.file)] }
}

function isOutside({ findings }: ReadConfiguration): boolean {
  return findings[0]?.code === 'linked-file'
}

function readStdin(
  { stdin = () => readFileSync(0) }: ReadConfigurationsOptions,
  findings: Finding[],
): Source | undefined {
  try {
    return decode('-', stdin(), findings)
  } catch (error) {
    findings.push(unreadable('-', error))
    return undefined
  }
}

type Reader = ReturnType<typeof createReader>

/**
 * Reads configurations again and again: a file whose text is the same as the last time gives the same object.
 * @param env must stay the same, as must `options`: configurations depend on both
 */
export function createReader(env: Env, options: CheckOptions = {}) {
  /** By file. */
  let last: ReadonlyMap<string, ReadConfiguration> = new Map()
  const ownResults = new WeakMap<ReadConfiguration, OwnResult>()
  const checkedOne = (read: Read) => {
    const known = ownResults.get(read) ?? checkOne(read, options)
    ownResults.set(read, known)
    return known
  }
  return {
    /** As `readConfiguration`, after yielding to calls. */
    async read(source: Source): Promise<ReadConfiguration> {
      const known = last.get(source.file)
      if (known?.text === source.text) return known
      await pause()
      return readConfiguration(source, env, options)
    },
    /** As `checkTogether`; the next `read` returns these configurations again. */
    async together(configurations: readonly ReadConfiguration[]): Promise<readonly Finding[]> {
      const findings = await inTurns(togetherSteps(configurations, checkedOne))
      last = new Map(configurations.map((read) => [read.file, read]))
      return findings
    },
  }
}

/** Returns the reader of the last call while `env` and `options` are the same, else a new one. */
export function readerKeeper(): (env: Env, options: CheckOptions) => Reader {
  let kept: { env: Env; options: CheckOptions; reader: Reader } | undefined
  return (env, options) => {
    if (kept?.env !== env || kept.options !== options)
      kept = { env, options, reader: createReader(env, options) }
    return kept.reader
  }
}
