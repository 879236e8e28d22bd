import { type CheckOptions, readConfigurations, readerKeeper } from '../checks/index.ts'
import {
  type Env,
  qualifiedName,
  type ReadConfiguration,
  type ReadConfigurationsResult,
} from '../config/index.ts'
import { type Finding, finding, sortFindings } from '../findings/index.ts'
import { faultHint } from '../store/fault-hint.ts'
import { inTime } from '../store/in-time.ts'
import { type ConfigurationStore, settle } from '../store/index.ts'

/**
 * Where configurations come from: reads all of them, and checks them together. With the same `env` and `options` what
 * has not changed is the same object again. Never throws.
 */
export type ConfigurationSource = (
  env: Env,
  options: CheckOptions,
) => Promise<
  ReadConfigurationsResult & {
    versions?: ReadonlyMap<string, string>
    /** Generation of the resulting table, if another process counts it. */
    generation?: number
  }
>

/** Limits the time of all reads but the first, because a disk may not answer. */
function patient(places: readonly string[], source: ConfigurationSource): ConfigurationSource {
  let isRead = false
  return async (env, options) => {
    const reading = source(env, options).finally(() => {
      isRead = true
    })
    return isRead ? inTime(reading, 120_000).catch((error) => unread(places, error)) : reading
  }
}

/** Files and folders. A `config apply` that was killed in a folder is finished first. */
export function fromPaths(paths: readonly string[]): ConfigurationSource {
  const readerOf = readerKeeper()
  return patient(paths, async (env, options) => {
    const failed: Finding[] = []
    for (const path of paths) await settle(path).catch((error) => failed.push(unreadable(path, error)))
    const reading = await readConfigurations(paths, env, { ...options, reader: readerOf(env, options) })
    return failed.length === 0
      ? reading
      : { ...reading, findings: sortFindings([...failed, ...reading.findings]) }
  })
}

/** The records of a store; while it cannot be read its configurations stay in service. */
export function fromStore(store: ConfigurationStore): ConfigurationSource {
  const readerOf = readerKeeper()
  return patient([store.label], async (env, options) => {
    try {
      const stored = (await store.readAll()).configurations
      const reader = readerOf(env, options)
      const configurations: ReadConfiguration[] = []
      for (const { place: file, text } of stored) {
        configurations.push(await reader.read({ file, text }))
      }
      const findings = configurations.flatMap((read) => read.findings)
      return {
        configurations,
        findings: sortFindings([...findings, ...(await reader.together(configurations))]),
        sources: new Map(configurations.map(({ file, text }) => [file, text])),
        versions: new Map(stored.map((one) => [qualifiedName(one), one.version])),
      }
    } catch (error) {
      return unread([store.label], error)
    }
  })
}

/** A reading that failed as a whole: what was read before stays in service. */
function unread(places: readonly string[], error: unknown): ReadConfigurationsResult {
  const findings = places.map((place) => unreadable(place, error))
  return { configurations: [], findings, sources: new Map() }
}

const KEEPS =
  'A running gateway keeps its configuration and tries again; `serve --skip-invalid` starts without it'

function unreadable(place: string, error: unknown): Finding {
  const { message } = error as Error
  const hint = [faultHint(error as Error), KEEPS].filter(Boolean).join('. ')
  return finding('unreadable-store', place, message.replace(`${place}: `, ''), { hint })
}
