import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import { type Command, Option } from 'commander'
import { type Env, SETTINGS_FILE, type Settings } from '../config/index.ts'
import { areSecretsCurrent, nameEnvFile, secretVariables } from '../config/secret-files.ts'
import type { Logger } from '../telemetry/log.ts'
import { append } from './options.ts'

/** Files whose variables are in this process's environment, the last one first. */
let files: readonly string[] = []
/** The variables that come from them, by name. */
let given: Record<string, string | undefined> = {}

/** Adds `--env-file` to all commands; the files are read before the command runs. */
export function withEnvFiles(program: Command): Command {
  return program
    .addOption(
      new Option('--env-file <file>', 'file of environment variables; may be repeated')
        .argParser(append)
        .default([], '.env beside the settings file'),
    )
    .hook('preAction', (_, command) => {
      const { envFile = [], settings } = command.optsWithGlobals<{ envFile?: string[]; settings?: string }>()
      files = envFile.length ? [...envFile].reverse() : ownFile(settings)
      readEnvFiles()
      if (files[0] !== undefined) nameEnvFile(process.env, files[0])
    })
}

/** `.env` beside the settings file, where there are both. */
function ownFile(named: string | undefined): string[] {
  const settings = named ?? (process.env.PLANTGW_SETTINGS || SETTINGS_FILE)
  const file = join(dirname(settings), '.env')
  return existsSync(settings) && existsSync(file) ? [file] : []
}

/**
 * Puts the variables of the files into the process's environment; those that are set otherwise stay as they are.
 * @throws Error that names the file that cannot be read
 */
function readEnvFiles(): void {
  const read: Record<string, string | undefined> = {}
  for (const file of files) {
    try {
      for (const [name, value] of Object.entries(parseEnv(readFileSync(file, 'utf8')))) read[name] ??= value
    } catch (error) {
      throw new Error(`cannot read the environment file ${file}: ${(error as Error).message}`)
    }
  }
  for (const name of Object.keys(given)) if (process.env[name] === given[name]) delete process.env[name]
  given = {}
  for (const [name, value] of Object.entries(read)) {
    // Node 20 reads `--env-file` itself wherever it stands (nodejs/node#54232): what it has set comes from the file.
    if (value === undefined || (process.env[name] ?? value) !== value) continue
    process.env[name] = value
    given[name] = value
  }
}

/** The variables that configurations read: of the process, of the secrets of the settings, and the port. */
export function environmentOf({ port, secrets }: Pick<Settings, 'port' | 'secrets'>): Env {
  // Configurations that call the gateway itself find the port that flags and settings came to.
  const env = { ...secretVariables(secrets), ...process.env, PLANTGW_PORT: String(port) }
  if (files[0] !== undefined) nameEnvFile(env, files[0])
  return env
}

/**
 * Reads the environment of configurations again each time it is asked: the same object as long as nothing changed.
 * The variables of a file that can no longer be read stay as they were.
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
