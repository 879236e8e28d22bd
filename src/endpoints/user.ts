import type { Path } from '../config/index.ts'
import type { Read, User } from './types.ts'

/** What stands at a path of a configuration, as one that needs an endpoint. */
export function userOf(read: Read, name: string, path: Path): User {
  const range = read.locate(path) ?? read.locate.key(path)
  return { file: read.file, configuration: read.configuration.name, name, ...(range && { range }) }
}
