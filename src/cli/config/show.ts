import type { Command } from 'commander'
import { table } from '../columns.ts'
import {
  type Exit,
  isVisible,
  printJson,
  refuse,
  type StoreFlags,
  storeCommand,
  withStore,
} from './context.ts'

export function listCommand(exit: Exit): Command {
  return storeCommand('list', 'List the configurations with their tenants and versions.').action(
    async (flags: StoreFlags) => exit(await list(flags)),
  )
}

function list(flags: StoreFlags): Promise<number> {
  return withStore(flags, async ({ store }) => {
    const configurations = (await store.list()).filter((one) => isVisible(one, flags))
    if (flags.format === 'json') printJson({ configurations })
    else
      process.stdout.write(
        table(
          ['NAME', 'TENANT', 'VERSION', 'UPDATED', 'AUTHOR', 'MESSAGE'],
          configurations.map(({ name, tenant, version, updatedAt, author = '', message = '' }) => {
            return [name, tenant, version, updatedAt, author, message]
          }),
        ),
      )
    return 0
  })
}

export function getCommand(exit: Exit): Command {
  return storeCommand('get', 'Print the text of a configuration.')
    .argument('<name>', 'its name')
    .option('--at <version>', 'version (default: the current one)')
    .action(async (name: string, flags: StoreFlags & { at?: string }) => exit(await get(name, flags)))
}

function get(name: string, flags: StoreFlags & { at?: string }): Promise<number> {
  return withStore(flags, async ({ store }) => {
    const found = await store.get(name, flags.at)
    if (!found || !isVisible(found, flags)) {
      const version = flags.at === undefined ? '' : ` in the version ${flags.at}`
      return refuse(`there is no configuration ${JSON.stringify(name)}${version}`)
    }
    const { place: _, ...configuration } = found
    if (flags.format === 'json') printJson(configuration)
    else process.stdout.write(found.text)
    return 0
  })
}

export function historyCommand(exit: Exit): Command {
  return storeCommand('history', 'List the versions of a configuration, newest first.')
    .argument('<name>', 'its name')
    .action(async (name: string, flags: StoreFlags) => exit(await history(name, flags)))
}

function history(name: string, flags: StoreFlags): Promise<number> {
  return withStore(flags, async ({ store }) => {
    const versions = (await store.history(name)).filter((one) => isVisible(one, flags))
    if (versions.length === 0) return refuse(`there is no history of a configuration ${JSON.stringify(name)}`)
    if (flags.format === 'json') printJson({ name, versions })
    else
      process.stdout.write(
        table(
          ['VERSION', 'UPDATED', 'TENANT', 'AUTHOR', 'MESSAGE'],
          versions.map(({ version, updatedAt, tenant, author = '', message = '', deleted }) => {
            return [version, updatedAt, tenant, author, deleted ? `(deleted) ${message}` : message]
          }),
        ),
      )
    return 0
  })
}
