import type { Finding } from '../findings/index.ts'
import type { Read } from './at.ts'
import { type Alone, type CheckTogetherOptions, checkAlone, checkTogether } from './check.ts'
import { type Env, type ReadConfiguration, readConfiguration, type Source } from './read.ts'

/** Reads the same configurations time and again; what is the same as the last time costs nothing. */
export interface Reader {
  /** As `readConfiguration`; the one of the last time where file and text are the same. */
  read(source: Source): ReadConfiguration
  /** As `checkTogether`; what is checked here is the last time for the next `read`. */
  together(configurations: readonly ReadConfiguration[]): readonly Finding[]
}

/**
 * @param env must not change: what a text comes to depends on it
 * @param options nor these
 */
export function createReader(env: Env, options: CheckTogetherOptions = {}): Reader {
  let last: readonly ReadConfiguration[] = []
  let byFile = new Map<string, ReadConfiguration>()
  let findings: readonly Finding[] = []
  const alone = new WeakMap<ReadConfiguration, Alone>()

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
      return known?.text === source.text ? known : readConfiguration(source, env)
    },
    together(configurations) {
      if (configurations.length === last.length && configurations.every((read, i) => read === last[i]))
        return findings
      last = [...configurations]
      byFile = new Map(last.map((read) => [read.file, read]))
      findings = checkTogether(last, options, aloneOf)
      return findings
    },
  }
}

/** A reader for the same `env` and `options` as the last time, or a new one. */
export function readerKeeper(): (env: Env, options: CheckTogetherOptions) => Reader {
  let kept: { env: Env; options: CheckTogetherOptions; reader: Reader } | undefined
  return (env, options) => {
    if (kept?.env !== env || kept.options !== options)
      kept = { env, options, reader: createReader(env, options) }
    return kept.reader
  }
}
