import type { Finding } from '../findings/index.ts'
import type { Read } from './at.ts'
import { type Alone, type CheckTogetherOptions, checkAlone, togetherSteps } from './check.ts'
import { configurationSteps, type Env, type ReadConfiguration, type Source } from './read.ts'
import { inTurns, takeTurns } from './turns.ts'

/** Reads the same configurations time and again, with pauses; what is the same as the last time costs nothing. */
export interface Reader {
  /** As `readConfiguration`; the one of the last time where file and text are the same. */
  read(source: Source): ReadConfiguration | Promise<ReadConfiguration>
  /** As `checkTogether`; what is checked here is the last time for the next `read`. */
  together(configurations: readonly ReadConfiguration[]): Promise<readonly Finding[]>
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
      return known?.text === source.text ? known : inTurns(configurationSteps(source, env), turn)
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
export function readerKeeper(): (env: Env, options: CheckTogetherOptions) => Reader {
  let kept: { env: Env; options: CheckTogetherOptions; reader: Reader } | undefined
  return (env, options) => {
    if (kept?.env !== env || kept.options !== options)
      kept = { env, options, reader: createReader(env, options) }
    return kept.reader
  }
}
