import { fromPaths, fromStore } from '../../build/source.ts'
import type { Settings } from '../../config/index.ts'
import { loginName } from '../../credentials/oauth/flow.ts'
import type { ServerLogin } from '../../credentials/oauth/server-login.ts'
import { openVault } from '../../credentials/oauth/vault.ts'
import { HttpClient } from '../../net/index.ts'
import { previewTable } from '../../server/live.ts'
import { type ConfigurationStore, openStore } from '../../store/index.ts'
import { silentLog } from '../../telemetry/log.ts'
import { printable } from '../../text/index.ts'
import { environmentOf } from '../env-files.ts'
import { noSuch } from '../options.ts'
import { VERSION } from '../own-command.ts'
import { loadSettings, usualPaths } from '../settings.ts'

/**
 * Works with the login that a server of the configurations needs.
 * @param name of the server, `configuration/server` or `tenant/configuration/server`
 * @param paths configuration files or folders; none: those that `serve` reads
 * @returns 1 if the settings have findings
 * @throws Error if there is no such server; LoginError, StoreError
 */
export async function withServerLogin(
  name: string,
  paths: readonly string[],
  file: string | undefined,
  work: (login: ServerLogin, settings: Settings) => Promise<number>,
): Promise<number> {
  const { settings, code } = loadSettings(file)
  if (!settings) return code
  if (!settings.vault)
    throw new Error(
      'the settings have no `vault`, which keeps logins: add `vault: { key: "${PLANTGW_VAULT_KEY}" }`, and set the variable to what `openssl rand -base64 32` prints',
    )
  const env = environmentOf(settings)
  const given = paths.length ? paths : usualPaths(settings)
  const vault = await openVault(settings.vault)
  const http = new HttpClient()
  let store: ConfigurationStore | undefined
  try {
    if (!given.length && settings.storage) store = await openStore(settings.storage, env, settings.tenants)
    const source = store ? fromStore(store) : fromPaths(given)
    const options = {
      paths: source,
      settings,
      env,
      log: silentLog,
      version: VERSION,
      skipInvalid: true,
      vault,
    }
    const { table } = await previewTable(options, http)
    const all = [...table.prepared.values()].flatMap(({ logins = [] }) => logins)
    return await work(chosen(name, all), settings)
  } finally {
    await Promise.all([http.close(), store?.close(), vault.close()])
  }
}

function chosen(name: string, all: readonly ServerLogin[]): ServerLogin {
  const exact = all.find(({ server }) => loginName(server) === name)
  if (exact) return exact
  const having = (text: string) =>
    all.filter(({ server }) => text === server.name || text === `${server.configuration}/${server.name}`)
  const found = having(name)
  const [first, second] = found
  if (second) {
    const names = found.map(({ server }) => loginName(server)).join(', ')
    throw new Error(printable(`several servers have the name ${name}: give one of ${names}`))
  }
  if (first) return first
  const none = 'no configuration has a server with `credentials` of `type: oauth` and `for: gateway`'
  const names = all.map(({ server }) => (having(server.name).length > 1 ? loginName(server) : server.name))
  throw new Error(printable(noSuch(`no server with a login is named ${name}`, name, names, none)))
}
