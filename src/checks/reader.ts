import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  type Env,
  type Examined,
  type Examiner,
  filesOf,
  mayBeConfiguration,
  noFiles,
  outsideFinding,
  type ReadConfiguration,
  type ReadConfigurationsResult,
  readFiles,
  type Source,
} from '../config/index.ts'
import { decode, type FileReader, unreadable } from '../config/loader.ts'
import { DEFAULT_TENANT } from '../config/model.ts'
import { configurationSteps, examinedConfiguration, limited, readSchemaFile } from '../config/read.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import { type Finding, finding, hasErrors, sortFindings } from '../findings/index.ts'
import { isObject } from '../json/index.ts'
import { inOneGo } from '../telemetry/loop-delay.ts'
import { atOnce, giveWayToCalls, inTurns, type Steps } from '../text/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { FIELD_CHECKS } from './fields/index.ts'
import { type Alone, checkAlone, type Together, togetherAgain, togetherSteps } from './together.ts'

/**
 * Reads one configuration, and checks what its fields say about each other. What its names refer to is checked by
 * `checkTogether`. Never throws.
 */
export function readConfiguration(source: Source, env: Env, options: CheckOptions = {}): ReadConfiguration {
  return atOnce(readSteps(source, env, options))
}

/** The same, with pauses. */
function* readSteps(source: Source, env: Env, options: CheckOptions): Steps<ReadConfiguration> {
  const { tenants } = options
  const tenant = tenants ? writtenTenant(source) : DEFAULT_TENANT
  const read = yield* configurationSteps(source, envOfTenant(env, tenant, tenants))
  if (!read.configuration) return read
  yield
  const found = inOneGo('check a configuration', source.file, () =>
    runChecks(FIELD_CHECKS, read as Read, options),
  )
  if (tenants && read.configuration.tenant !== tenant) found.push(variableTenant(read))
  return found.length === 0 ? read : { ...read, findings: limited([...read.findings, ...found], read.file) }
}

/** Escapes, aliases and merges may give a key that the text does not show. */
const MAY_NAME_TENANT = /tenant|[\\*<]/

/**
 * The tenant as the text gives it, without any variable: before it is known whose the file is, it may read none. Absent and
 * of the wrong form: the default, for which the file is checked as it is.
 */
function writtenTenant(source: Source): string {
  if (!MAY_NAME_TENANT.test(source.text)) return DEFAULT_TENANT
  const { value } = readSchemaFile(source, {}, 'configuration')
  const tenant = isObject(value) ? value.tenant : undefined
  return typeof tenant === 'string' ? tenant : DEFAULT_TENANT
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
  /** Default: one that knows of no earlier run. */
  files?: FileReader
  /** Made with the same environment and options: what it has read before is not read again. */
  reader?: Reader
  /** Begins to examine many configurations with the same environment and options; absent: all is done here. */
  examiner?: () => Examiner
}

/** To start threads for fewer files takes longer than they save, on two processors. */
const MANY = 3_000
/** Of so many files that were read together each is examined elsewhere. */
const WORTHWHILE = 50
/** Of so many in a hundred that are not sound the next ones are not examined: it would all be done twice. */
const FAULTY = 50
/** Batches of files that are examined while others are read: enough that no thread waits. */
const AHEAD = 8

type Sources = readonly (Source | undefined)[]
/** Files that were read, and what was found of those that were examined. */
interface Batch {
  sources: Sources
  /** What the very same files came to the last time. */
  same: readonly ReadConfiguration[] | undefined
  examined: Promise<ReadonlyMap<Source, Examined>> | undefined
}

/** Has files examined a few batches ahead of their use. */
async function* batches(
  files: AsyncIterable<Sources>,
  examiner: Examiner | undefined,
  { known, sameOf }: Reader,
): AsyncGenerator<Batch> {
  const ahead: Batch[] = []
  let isWorthwhile = examiner !== undefined
  const examined = async (fresh: readonly Source[]) => {
    // A thread that ended leaves its work to this one.
    const all = (await examiner?.examine(fresh).catch(() => [])) ?? []
    const sound = soundOf(fresh, all)
    if (sound.size * 100 < fresh.length * (100 - FAULTY)) isWorthwhile = false
    return sound
  }
  for await (const sources of files) {
    const same = sameOf(sources)
    const isFresh = (source: Source | undefined) => source !== undefined && !known(source)
    const fresh = isWorthwhile && !same ? (sources.filter(isFresh) as Source[]) : []
    ahead.push({ sources, same, examined: fresh.length >= WORTHWHILE ? examined(fresh) : undefined })
    if (ahead.length > AHEAD) yield ahead.shift()!
  }
  yield* ahead
}

function soundOf(sources: readonly Source[], all: readonly (Examined | undefined)[]) {
  const found = new Map<Source, Examined>()
  for (const [i, examined] of all.entries()) if (examined) found.set(sources[i]!, examined)
  return found
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
  const { reader = createReader(env, options), files: fileReader = readFiles } = options
  const findings: Finding[] = []
  const { found, names, asked, outside } = await filesAt(paths, findings)
  const configurations: ReadConfiguration[] = []
  const sources = new Map<string, string>()
  /** Files of folders that are something else. */
  const others = new Set<string>()
  const add = (given: ReadConfiguration) => {
    const read = outside.size > 0 ? shown(given, outside) : given
    configurations.push(read)
    for (const found of read.findings) findings.push(found)
    sources.set(read.file, outside.has(read.file) ? '' : read.text)
  }
  const take = async (source: Source, examined: Examined | undefined) => {
    if (!asked.has(source.file) && !mayBeConfiguration(source)) {
      others.add(source.file)
      return undefined
    }
    return reader.read(source, examined)
  }
  const read = async ({ sources, same, examined }: Batch) => {
    const pause = giveWayToCalls()
    if (pause) await pause
    if (same) {
      for (const one of same) add(one)
      return
    }
    const sound = await examined
    const came: ReadConfiguration[] = []
    for (const source of sources) {
      const one = source && (await take(source, sound?.get(source)))
      if (one) came.push(one)
      const pause = giveWayToCalls()
      if (pause) await pause
    }
    for (const one of came) add(one)
    if (came.length === sources.length) reader.keep(sources, came)
  }
  const stdin = names.indexOf('-')
  const examiner = names.length >= MANY ? lateExaminer(options.examiner) : undefined
  try {
    for (const part of stdin < 0 ? [names] : [names.slice(0, stdin), ['-'], names.slice(stdin + 1)])
      if (part[0] === '-')
        await read({ sources: [readStdin(options, findings)], same: undefined, examined: undefined })
      else for await (const batch of batches(fileReader(part, findings), examiner, reader)) await read(batch)
  } finally {
    examiner?.close()
  }
  for (const [path, all] of found)
    if (all.length > 0 && all.every((file) => others.has(file))) findings.push(noFiles(path))
  const open = outside.size > 0 ? configurations.filter((read) => !isHidden(read)) : configurations
  findings.push(...(await reader.together(open)))
  return { configurations, findings: sortFindings(findings), sources }
}

/** The files that paths stand for. */
interface NamedFiles {
  /** By path. */
  found: ReadonlyMap<string, readonly string[]>
  /** Each of them once. */
  names: readonly string[]
  /** Those that somebody named. */
  asked: ReadonlySet<string>
  /** Those that a link of a folder leads to outside of it, and that nobody named. */
  outside: ReadonlySet<string>
}

async function filesAt(paths: readonly string[], findings: Finding[]): Promise<NamedFiles> {
  const identityOf = (file: string) => (paths.length === 1 || file === '-' ? file : resolve(file))
  const named = new Set(paths.map(identityOf))
  const outside = new Set<string>()
  const found = new Map<string, readonly string[]>()
  for (const path of paths) found.set(path, await filesOf(path, findings, undefined, outside))
  const all = [...found.values()].flat()
  // Files of one folder differ.
  const names = paths.length === 1 ? all : distinct(all, identityOf)
  const asked = new Set(names.filter((file) => named.has(identityOf(file))))
  for (const file of outside) if (named.has(identityOf(file))) outside.delete(file)
  return { found, names, asked, outside }
}

/** The first file of each identity. */
function distinct(files: readonly string[], identityOf: (file: string) => string): string[] {
  const seen = new Set<string>()
  return files.filter((file) => {
    const identity = identityOf(file)
    return !seen.has(identity) && seen.add(identity)
  })
}

/** One that begins when it is first asked. */
function lateExaminer(begin: ReadConfigurationsOptions['examiner']): Examiner | undefined {
  let begun: Examiner | undefined
  return (
    begin && {
      // What fails at its beginning is a rejection too.
      async examine(sources) {
        begun ??= begin()
        return begun.examine(sources)
      },
      close: () => begun?.close(),
    }
  )
}

/** Of a file outside of the folder, nothing but that it is not sound. */
function shown(read: ReadConfiguration, outside: ReadonlySet<string>): ReadConfiguration {
  if (!outside.has(read.file) || (read.configuration && !hasErrors(read.findings))) return read
  return { ...read, text: '', configuration: undefined, findings: [outsideFinding(read.file)] }
}

function isHidden({ findings }: ReadConfiguration): boolean {
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

/** So many changes are looked at without a pause. */
const FEW = 100

export type Reader = ReturnType<typeof createReader>

/**
 * Reads the same configurations time and again, with pauses; what is the same as the last time costs nothing.
 * @param env must not change: what a text comes to depends on it
 * @param options nor these
 */
export function createReader(env: Env, options: CheckOptions = {}) {
  let last: readonly ReadConfiguration[] = []
  let byFile = new Map<string, ReadConfiguration>()
  let found: Together = { findings: [] }
  const alone = new WeakMap<ReadConfiguration, Alone>()
  const kept = new WeakMap<Sources, readonly ReadConfiguration[]>()

  const aloneOf = (read: Read) => {
    const known = alone.get(read)
    if (known) return known
    const checked = checkAlone(read, options)
    alone.set(read, checked)
    return checked
  }
  const known = ({ file, text }: Source) => {
    const read = byFile.get(file)
    return read?.text === text ? read : undefined
  }
  return {
    /** What a text came to the last time. */
    known,
    /** What the files of this very list came to, if each of them is a configuration. */
    sameOf: (sources: Sources) => kept.get(sources),
    keep(sources: Sources, reads: readonly ReadConfiguration[]): void {
      kept.set(sources, reads)
    },
    /** As `readConfiguration`; the one of the last time where file and text are the same. */
    read(source: Source, examined?: Examined): ReadConfiguration | Promise<ReadConfiguration> {
      const before = known(source)
      if (before) return before
      if (!examined) return inTurns(readSteps(source, env, options))
      return examinedConfiguration(source, examined, (tenant) => envOfTenant(env, tenant, options.tenants))
    },
    /** As `checkTogether`; what is checked here is the last time for the next `read`. */
    async together(configurations: readonly ReadConfiguration[]): Promise<readonly Finding[]> {
      if (configurations.length === last.length && configurations.every((read, i) => read === last[i]))
        return found.findings
      const changes = changesTo(configurations)
      const quick = changes && togetherAgain(found, changes, aloneOf)
      const made = quick ?? (await inTurns(togetherSteps(configurations, aloneOf)))
      // In one step, as another reading may have ended meanwhile.
      last = [...configurations]
      if (quick) for (const { file } of changes.gone) byFile.delete(file)
      else byFile = new Map()
      for (const read of quick ? changes.came : last) byFile.set(read.file, read)
      found = made
      return made.findings
    },
  }

  /** What came and went since the last time; undefined: more than a few. */
  function changesTo(configurations: readonly ReadConfiguration[]) {
    const came = configurations.filter((read, i) => read !== last[i] && byFile.get(read.file) !== read)
    if (came.length > FEW) return undefined
    const replaced = came.flatMap(({ file }) => byFile.get(file) ?? [])
    if (last.length + came.length - replaced.length === configurations.length) return { came, gone: replaced }
    const here = new Set(configurations.map(({ file }) => file))
    return { came, gone: [...replaced, ...last.filter(({ file }) => !here.has(file))] }
  }
}

/** A reader for the same `env` and `options` as the last time, or a new one. */
export function readerKeeper(): (env: Env, options: CheckOptions) => Reader {
  let kept: { env: Env; options: CheckOptions; reader: Reader } | undefined
  return (env, options) => {
    if (kept?.env !== env || kept.options !== options)
      kept = { env, options, reader: createReader(env, options) }
    return kept.reader
  }
}
