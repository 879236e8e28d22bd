import { Command } from 'commander'
import { createAdminAccess } from '../../access/admin.ts'
import { isVisible } from '../../build/store-changes.ts'
import {
  ambiguous,
  DEFAULT_TENANT,
  type Env,
  type Identity,
  identityOf,
  named,
  type Settings,
} from '../../config/index.ts'
import { type ConfigurationStore, openStore } from '../../store/index.ts'
import { printableLines } from '../../text/index.ts'
import { environmentOf } from '../env-files.ts'
import { formatOption, noSuch } from '../options.ts'
import { loadSettings, settingsOption } from '../settings.ts'

/** Flags of every `config` command. */
export interface StoreFlags {
  settings: string
  /** Restricts the command to this tenant's configurations. */
  tenant?: string | undefined
  format: 'text' | 'json'
}

export interface StoreContext {
  store: ConfigurationStore
  settings: Settings
  /** The environment of configurations, as for `serve`. */
  env: Env
}

export type Exit = (code: number) => void

/** A command with the common flags. */
export function storeCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(settingsOption('settings file with a `storage`'))
    .option('--tenant <name>', 'only the configurations of this tenant')
    .addOption(formatOption())
}

/**
 * Opens the store of the settings for one command.
 * @returns the result of `work`; 1 if the settings have findings
 * @throws StoreError; Error if the settings are unreadable or name no store
 */
export async function withStore(
  flags: StoreFlags,
  work: (context: StoreContext) => Promise<number>,
): Promise<number> {
  const { settings: file } = flags
  const { settings, code } = loadSettings(file)
  if (!settings) return code
  if (!settings.storage)
    throw new Error(
      file === undefined
        ? 'no settings name a store: give a file with --settings, or add `storage` to plantgw.yaml, such as {type: lowdb}'
        : `the settings file ${file} names no store: add \`storage\`, such as {type: lowdb}`,
    )
  flags.tenant = tenantOf(flags, settings, process.env.PLANTGW_TOKEN)
  const env = environmentOf(settings)
  const store = await openStore(settings.storage, env, settings.tenants)
  try {
    return await work({ store, settings, env })
  } finally {
    await store.close()
  }
}

/**
 * The tenant that restricts a command, by its flag or the credential in `PLANTGW_TOKEN`; undefined: none.
 * @throws Error if the tenant or credential is unknown, or they disagree
 */
function tenantOf({ tenant }: StoreFlags, settings: Settings, token: string | undefined): string | undefined {
  if (!token) return known(tenant, settings)
  const access = createAdminAccess(settings.admin, settings.tenants)
  const caller = access({ headers: { authorization: `Bearer ${token}` }, isLocal: false })
  if (!caller)
    throw new Error(
      'PLANTGW_TOKEN is neither the token of `admin` in the settings nor one of a tenant: unset it, or set a known one',
    )
  if (caller.tenant !== undefined && tenant !== undefined && tenant !== caller.tenant)
    throw new Error(
      `PLANTGW_TOKEN is one of the tenant ${caller.tenant}, which cannot see those of ${tenant}`,
    )
  return caller.tenant ?? known(tenant, settings)
}

/** The tenant, if the settings know it or define none. */
function known(tenant: string | undefined, { tenants }: Settings): string | undefined {
  if (!tenants || tenant === undefined) return tenant
  const names = [...tenants.map(({ name }) => name), DEFAULT_TENANT]
  if (names.includes(tenant)) return tenant
  throw new Error(noSuch(`the settings have no tenant ${tenant}`, tenant, names))
}

/**
 * The configuration with a name; if it does not exist, its future identity.
 * @throws Error if several tenants have the name
 */
export function meant<T extends Identity>(
  text: string,
  known: readonly T[],
  flags: StoreFlags,
): T | Identity {
  const found = named(
    text,
    known.filter((one) => isVisible(one, flags)),
  )
  if (found.length > 1) throw new Error(ambiguous(text, found))
  return found[0] ?? identityOf(text, flags.tenant)
}

/** The argument of commands that take a name. */
export const NAME_HELP = 'its name, or tenant/name where several tenants have it'

/** Prints why nothing was done; returns 1, as for findings. */
export function refuse(...lines: string[]): 1 {
  for (const line of lines) process.stderr.write(`plantgw: ${printableLines(line)}\n`)
  return 1
}
