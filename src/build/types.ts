import type { Settings } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ConfigurationSource } from './source.ts'

/** What a table is built of. */
export interface BuildOptions {
  /** Configuration files and folders, or what else reads configurations. */
  paths: readonly string[] | ConfigurationSource
  settings: Settings
  env: Readonly<Record<string, string | undefined>>
  log: Logger
  version: string
  /** Serve the sound configurations although others have errors. */
  skipInvalid?: boolean
}

export interface Loaded {
  findings: Finding[]
  /** Text of the files read, for code frames. */
  sources: ReadonlyMap<string, string>
}
