import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Command, Option } from 'commander'
import { type Env, SETTINGS_FILE, type Settings } from '../config/index.ts'
import { areSecretsCurrent, nameEnvFile, nameSecrets, secretVariables } from '../config/secret-files.ts'
import type { Logger } from '../telemetry/log.ts'
import { readEnvText } from './env-text.ts'
import { append } from './options.ts'
import { readInTime, readNamed } from './read-in-time.ts'

/** Files whose variables are in this process's environment, last one first. */
let files: readonly string[] = []
/** Their variables by name. */
let given = new Map<string, string>()

/** Adds `--env-file` to all commands; the files are read before the command runs. */
export function withEnvFiles(program: Command): Command {
  return program
    .addOption(
      new Option('--env-file <file>', 'file of environment variables; may be repeated')
        .argParser(append)
        .default([], '.env beside the settings file, and .env in this folder'),
    )
    .hook('preAction', (_, command) => {
      const { envFile = [], settings } = command.optsWithGlobals<{ envFile?: string[]; settings?: string }>()
      // As if the variable named them, so that their file is known wherever it is met.
      if (settings !== undefined) process.env.PLANTGW_SETTINGS = settings
      files = envFile.length ? [...envFile].reverse() : usualFiles(settings)
      readEnvFiles()
      if (files[0] !== undefined) nameEnvFile(process.env, files[0])
    })
}

/** `.env` beside the settings file and in this folder, if they exist. A virtual environment of Python is a folder. */
function usualFiles(named: string | undefined): string[] {
  const settings = named ?? (process.env.PLANTGW_SETTINGS || SETTINGS_FILE)
  const all = new Set([join(dirname(settings), '.env'), '.env'])
  return [...all].filter((file) => existsSync(file) && !statSync(file).isDirectory())
}

/**
 * Adds the files' variables to the process's environment; existing variables take precedence.
 * @throws Error for a file that is unreadable, or has a line that is no assignment
 */
function readEnvFiles(): void {
  const read = new Map<string, string>()
  for (const file of files)
    for (const [name, value] of readEnvText(textOf(file), file)) if (!read.has(name)) read.set(name, value)
  for (const [name, value] of given) if (process.env[name] === value) delete process.env[name]
  given = new Map()
  for (const [name, value] of read) {
    // One of the same value comes from the file, too, as with `EnvironmentFile` of systemd: it follows the file.
    if (Object.hasOwn(process.env, name) && process.env[name] !== value) continue
    process.env[name] = value
    given.set(name, value)
  }
}

/** Contents of pipes, such as `--env-file <(…)`, which can be read once. */
const pipes = new Map<string, string>()

function textOf(file: string): string {
  const known = pipes.get(file)
  if (known !== undefined) return known
  const text = readNamed(file, 'the environment file', (path) => {
    if (statSync(path).size > 1024 * 1024) throw new Error('it is larger than 1 MiB')
    return readInTime(path)
  }).toString()
  if (!statSync(file).isFile()) pipes.set(file, text)
  return text
}

/** The variables for configurations: of the process, of the settings' secrets, and the port. */
export function environmentOf({ port, secrets = [] }: Partial<Pick<Settings, 'port' | 'secrets'>>): Env {
  // For configurations that call the gateway itself.
  const found = secretVariables(secrets)
  const env: Env = {
    ...found.variables,
    ...process.env,
    ...(port !== undefined && { PLANTGW_PORT: String(port) }),
  }
  nameSecrets(env, found)
  if (files[0] !== undefined) nameEnvFile(env, files[0])
  return env
}

/**
 * Returns the current environment of configurations; the same object while nothing changes. Variables of a file that
 * has become unreadable are kept.
 */
export function currentEnvironment(settings: Pick<Settings, 'port' | 'secrets'>, log: Logger): () => Env {
  let last = environmentOf(settings)
  return () => {
    try {
      readEnvFiles()
    } catch (error) {
      log.error(`${(error as Error).message}; its variables stay as they were`)
    }
    const now = environmentOf(settings)
    if (!isDeepStrictEqual(now, last) || !areSecretsCurrent(last)) last = now
    return last
  }
}
