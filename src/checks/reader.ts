import {
  type Env,
  type ReadConfiguration,
  type ReadConfigurationsResult,
  type Reader,
  type ReadFilesOptions,
  readFiles,
  type Source,
} from '../config/index.ts'
import { configurationSteps, limited } from '../config/read.ts'
import { atOnce, inTurns, type Steps, takeTurns } from '../config/work-turns.ts'
import type { Finding } from '../findings/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { FIELD_CHECKS } from './fields/index.ts'
import { type Alone, checkAlone, togetherSteps } from './together.ts'

/**
 * Reads one configuration, and checks what its fields say about each other. What its names refer to is checked by
 * `checkTogether`. Never throws.
 */
export function readConfiguration(source: Source, env: Env): ReadConfiguration {
  return atOnce(readSteps(source, env))
}

/** The same, with pauses. */
function* readSteps(source: Source, env: Env): Steps<ReadConfiguration> {
  const read = yield* configurationSteps(source, env)
  if (!read.configuration) return read
  yield
  const found = runChecks(FIELD_CHECKS, read as Read)
  return found.length === 0 ? read : { ...read, findings: limited([...read.findings, ...found], read.file) }
}

export interface ReadConfigurationsOptions extends CheckOptions, ReadFilesOptions {
  /** Made with the same environment and options: what it has read before is not read again. */
  reader?: Reader
}

/**
 * Reads files and folders, checks each of them and all together. Never throws.
 * @param paths as those of `readFiles`
 */
export function readConfigurations(
  paths: readonly string[],
  env: Env,
  options: ReadConfigurationsOptions = {},
): Promise<ReadConfigurationsResult> {
  return readFiles(paths, options.reader ?? createReader(env, options), options)
}

/**
 * @param env must not change: what a text comes to depends on it
 * @param options nor these
 */
export function createReader(env: Env, options: CheckOptions = {}): Reader {
  let last: readonly ReadConfiguration[] = []
  let byFile = new Map<string, ReadConfiguration>()
  let findings: readonly Finding[] = []
  const alone = new WeakMap<ReadConfiguration, Alone>()
  const turn = takeTurns()

  const aloneOf = (read: Read) => {
    const known = alone.get(read)
    if (known) return known
    const checked = checkAlone(read, options)
    alone.set(read, checked)
    return checked
  }
  return {
    read(source) {
      const known = byFile.get(source.file)
      return known?.text === source.text ? known : inTurns(readSteps(source, env), turn)
    },
    async together(configurations) {
      if (configurations.length === last.length && configurations.every((read, i) => read === last[i]))
        return findings
      const found = await inTurns(togetherSteps(configurations, aloneOf), turn)
      // In one step, as another reading may have ended meanwhile.
      last = [...configurations]
      byFile = new Map(last.map((read) => [read.file, read]))
      findings = found
      return found
    },
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
