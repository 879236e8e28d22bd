import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isIdentifier } from '../text/index.ts'
import type { Env } from './model.ts'

/** Maximum bytes of a secret, which is read each time the configurations are. */
const MAX_SIZE = 64 * 1024

/** Values that `${file:…}` read, by environment: a new environment reads them again. */
const valuesRead = new WeakMap<Env, Map<string, Secret>>()

type Secret = { value: string } | { fault: string }

/**
 * The value of `${file:/path}`, without the line break at its end; the same for the same environment.
 * @param path absolute
 */
export function secretOf(env: Env, path: string): Secret {
  const known = valuesRead.get(env) ?? new Map<string, Secret>()
  valuesRead.set(env, known)
  const secret = known.get(path) ?? readSecret(path)
  known.set(path, secret)
  return secret
}

/** Whether `${file:…}` would read the same values again. */
export function areSecretsCurrent(env: Env): boolean {
  const known = valuesRead.get(env) ?? new Map<string, Secret>()
  return [...known].every(([path, secret]) => JSON.stringify(readSecret(path)) === JSON.stringify(secret))
}

/**
 * The variables of folders of secrets, as Docker (`/run/secrets`) and Kubernetes mount them: the name of a
 * file is the name of a variable. The function ignores missing folders, and hidden files such as Kubernetes' `..data`.
 * @returns `unread`: the files that cannot be read, by their variables, each with the reason
 */
export function secretVariables(folders: readonly string[]) {
  const found = new Map<string, string>()
  const unread = new Map<string, string>()
  for (const folder of folders)
    for (const name of namesIn(folder)) {
      const path = join(folder, name)
      const secret = readSecret(path)
      if ('fault' in secret) unread.set(name, `${path}: ${secret.fault}`)
      else if (!found.has(name)) found.set(name, secret.value)
    }
  return { variables: Object.fromEntries(found), unread }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(isIdentifier)
  } catch {
    return []
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
}

function readSecret(path: string): Secret {
  try {
    const stats = statSync(path)
    // A pipe would block the process.
    if (!stats.isFile()) return { fault: stats.isDirectory() ? 'it is a folder' : 'it is not a regular file' }
    if (stats.size > MAX_SIZE) return { fault: 'it is larger than 64 KiB' }
    const bytes = readFileSync(path)
    if (!isUtf8(bytes)) return { fault: 'it is not UTF-8 text' }
    // The decoder drops a byte order mark.
    return { value: new TextDecoder().decode(bytes).replace(/\r?\n$/, '') }
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    return { fault: REASONS[code] ?? message }
  }
}

/** The file of variables that an environment was read from, for hints. */
const filesOfVariables = new WeakMap<Env, string>()

export function nameEnvFile(env: Env, file: string): void {
  filesOfVariables.set(env, file)
}

export function envFileOf(env: Env): string | undefined {
  return filesOfVariables.get(env)
}

/** Secret files that would set a variable of an environment, by its name, each with the reason why they cannot be read. */
const unreadFiles = new WeakMap<Env, ReadonlyMap<string, string>>()
/** Variables of an environment that come from secret files. */
const secretNames = new WeakMap<Env, ReadonlySet<string>>()

export function nameSecrets(env: Env, { variables, unread }: ReturnType<typeof secretVariables>): void {
  unreadFiles.set(env, unread)
  secretNames.set(env, new Set(Object.keys(variables)))
}

export function unreadOf(env: Env, name: string): string | undefined {
  return unreadFiles.get(env)?.get(name)
}

/** A variable or secret file in `${…}`, or a variable of `env "NAME"` in a template. */
const USED = /\$\{(?:file:(\/[^}$]*)|([A-Za-z_]\w*))|\benv\s+\\?["`](\w+)\\?["`]/g

/** A variable or secret file that a configuration reads. */
export interface UsedVariable {
  name: string
  value: string
  /** A secret file holds it: it is a secret, whatever its name is. */
  isSecretFile: boolean
}

/** Environment variables used by a configuration's text, in `${…}` or `env`. */
export function variablesUsed(text: string, env: Env): UsedVariable[] {
  const found = new Map<string, UsedVariable>()
  for (const [, path, inText, inTemplate] of text.matchAll(USED)) {
    const name = path ?? inText ?? inTemplate!
    const secret = path === undefined ? undefined : valuesRead.get(env)?.get(path)
    const value = path === undefined ? env[name] : secret && 'value' in secret ? secret.value : undefined
    const isSecretFile = path !== undefined || (secretNames.get(env)?.has(name) ?? false)
    if (value) found.set(name, { name, value, isSecretFile })
  }
  return [...found.values()]
}

/** An environment in which these have another value. */
export function environmentWith(env: Env, used: readonly UsedVariable[], value: string): Env {
  const names = used.map(({ name }): [string, string] => [name, value])
  const made = { ...env, ...Object.fromEntries(names) }
  // Names of files, which are paths, are no names of variables.
  valuesRead.set(made, new Map(names.map(([path]) => [path, { value }])))
  return made
}

/** Changes when a variable or secret file that the text names has another value. */
export function environmentStamp(text: string, env: Env): string {
  // These searches are much faster than the pattern, and most files use no variable.
  if (!text.includes('${') && !text.includes('env')) return ''
  const used = [...text.matchAll(USED)].map(([, path, name, other]) =>
    path === undefined ? env[(name ?? other) as string] : secretOf(env, path),
  )
  return used.length ? createHash('sha256').update(JSON.stringify(used)).digest('base64') : ''
}
