import type { Finding, Range } from '../findings/index.ts'
import type { Configuration } from './model.ts'

/** Keys and indexes from the top of a file to a value, such as `['tools', 0, 'endpoint']`. */
export type Path = readonly (string | number)[]

export interface Source {
  /** Path as the user gave it; `-` for standard input. */
  file: string
  text: string
}

export type Env = Readonly<Record<string, string | undefined>>

export interface Locate {
  /**
   * The range of a value. With `start` and `end` (UTF-16 offsets into the scalar as read) the range of that part;
   * the whole scalar where the part cannot be traced, the key where the value is empty. Undefined when there is
   * no such value.
   */
  (path: Path, start?: number, end?: number): Range | undefined
  /** The range of the key whose value `path` names. */
  key(path: Path): Range | undefined
}

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
