import type { Finding, Locate, Path } from '../findings/index.ts'
import type { Configuration } from './model.ts'

export interface Source {
  /** Path as the user gave it; `-` for standard input. */
  file: string
  text: string
}

export type Env = Readonly<Record<string, string | undefined>>

export type { Locate, Path }

export interface ReadConfiguration extends Source {
  /**
   * May be set although there are errors, so that later stages can look for more of them: faulty parts are then left
   * out or replaced. Serve it only when no finding is an error. Undefined when the file is not a YAML map.
   */
  configuration: Configuration | undefined
  findings: Finding[]
  locate: Locate
  /** Whether the value at a path was left out or replaced: checks must not judge it. */
  doubtful: (path: Path) => boolean
}
