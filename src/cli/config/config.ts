import { Command } from 'commander'
import { isVisible } from '../../build/store-changes.ts'
import type { ConfigurationStore } from '../../store/index.ts'
import { diffCommand } from '../diff.ts'
import { printJson, table } from '../output.ts'
import { applyCommand, deleteCommand, rollbackCommand } from './change.ts'
import { type Exit, meant, NAME_HELP, refuse, type StoreFlags, storeCommand, withStore } from './context.ts'

export function configCommand(exit: Exit): Command {
  const command = new Command('config').description(
    'List, read and change the configurations in the store of the settings (`storage`).',
  )
  for (const make of [
    listCommand,
    getCommand,
    applyCommand,
    deleteCommand,
    historyCommand,
    diffCommand,
    rollbackCommand,
  ])
    command.addCommand(make(exit))
  return command
}

export function listCommand(exit: Exit): Command {
  return storeCommand('list', 'List the configurations with their tenants and versions.').action(
    async (flags: StoreFlags) => exit(await withStore(flags, ({ store }) => list(flags, store))),
  )
}

async function list(flags: StoreFlags, store: ConfigurationStore): Promise<0> {
  const configurations = (await store.list()).filter((one) => isVisible(one, flags))
  const rows = configurations.map(({ name, tenant, version, updatedAt, author = '', message = '' }) => {
    return [name, tenant, version, updatedAt, author, message]
  })
  if (flags.format === 'json') printJson({ configurations })
  else process.stdout.write(table(['NAME', 'TENANT', 'VERSION', 'UPDATED', 'AUTHOR', 'MESSAGE'], rows))
  return 0
}

interface GetFlags extends StoreFlags {
  at?: string
}

export function getCommand(exit: Exit): Command {
  return storeCommand('get', 'Print the text of a configuration.')
    .argument('<name>', NAME_HELP)
    .option('--at <version>', 'version (default: the current one)')
    .action(async (name: string, flags: GetFlags) =>
      exit(await withStore(flags, ({ store }) => get(name, flags, store))),
    )
}

async function get(name: string, flags: GetFlags, store: ConfigurationStore): Promise<0 | 1> {
  const found = await store.get(meant(name, await store.list(), flags), flags.at)
  if (!found || !isVisible(found, flags)) {
    const version = flags.at === undefined ? '' : ` in the version ${flags.at}`
    return refuse(`there is no configuration ${JSON.stringify(name)}${version}`)
  }
  const { place: _, ...configuration } = found
  if (flags.format === 'json') printJson(configuration)
  else process.stdout.write(found.text)
  return 0
}

export function historyCommand(exit: Exit): Command {
  return storeCommand('history', 'List the versions of a configuration, newest first.')
    .argument('<name>', NAME_HELP)
    .action(async (name: string, flags: StoreFlags) =>
      exit(await withStore(flags, ({ store }) => history(name, flags, store))),
    )
}

async function history(name: string, flags: StoreFlags, store: ConfigurationStore): Promise<0 | 1> {
  const identity = meant(name, await store.list(), flags)
  const versions = (await store.history(identity)).filter((one) => isVisible(one, flags))
  if (versions.length === 0) return refuse(`there is no history of a configuration ${JSON.stringify(name)}`)
  const rows = versions.map(({ version, updatedAt, tenant, author = '', message = '', deleted }) => {
    return [version, updatedAt, tenant, author, deleted ? `(deleted) ${message}` : message]
  })
  if (flags.format === 'json') printJson({ name: identity.name, tenant: identity.tenant, versions })
  else process.stdout.write(table(['VERSION', 'UPDATED', 'TENANT', 'AUTHOR', 'MESSAGE'], rows))
  return 0
}
