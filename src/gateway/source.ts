import {
  type CheckTogetherOptions,
  checkTogether,
  type Env,
  type ReadConfigurationsResult,
  readConfiguration,
  readConfigurations,
} from '../config/index.ts'
import { type Finding, finding, sortFindings } from '../findings/index.ts'
import { type ConfigurationStore, settle } from '../store/index.ts'

/** Where configurations come from: reads all of them, and checks them together. Never throws. */
export type ConfigurationSource = (
  env: Env,
  options: CheckTogetherOptions,
) => Promise<ReadConfigurationsResult>

/** Files and folders. What a killed `config apply` left half done in a folder is ended first. */
export function fromPaths(paths: readonly string[]): ConfigurationSource {
  return async (env, options) => {
    const failed: Finding[] = []
    for (const path of paths) await settle(path).catch((error) => failed.push(unreadable(path, error)))
    const reading = await readConfigurations(paths, env, options)
    return { ...reading, findings: sortFindings([...failed, ...reading.findings]) }
  }
}

/** The records of a store; while it cannot be read what was served from it is served on. */
export function fromStore(store: ConfigurationStore): ConfigurationSource {
  return async (env, options) => {
    try {
      const stored = (await store.readAll()).configurations
      const configurations = stored.map(({ place: file, text }) => readConfiguration({ file, text }, env))
      const findings = configurations.flatMap((read) => read.findings)
      return {
        configurations,
        findings: sortFindings([...findings, ...checkTogether(configurations, options)]),
        sources: new Map(configurations.map(({ file, text }) => [file, text])),
      }
    } catch (error) {
      return { configurations: [], findings: [unreadable(store.label, error)], sources: new Map() }
    }
  }
}

function unreadable(place: string, error: unknown): Finding {
  return finding('unreadable-store', place, (error as Error).message, {
    hint: 'What was served before is served on; the next reload looks again',
  })
}
