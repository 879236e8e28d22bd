import { DEFAULT_LIMITS, type Env, type McpServer } from '../config/index.ts'
import { variablesUsed } from '../config/secret-files.ts'
import { credentialsFor, type OwnerOf } from '../credentials/credential.ts'
import type { Vault } from '../credentials/oauth/vault.ts'
import { type Declared, readDeclared } from '../endpoints/index.ts'
import { guardsOfCommands, HttpClient } from '../net/index.ts'
import { silentLog } from '../telemetry/log.ts'
import { connectionOf } from '../tools/connection.ts'
import { compileDefinition } from '../upstream/definition.ts'
import { VERSION } from './own-command.ts'

/** Anonymous identity for token exchange, which the authorization server checks. */
const SOMEBODY = { caller: '', subject: '', issuer: '', scopes: new Set<string>(), claims: {} }

export interface DeclaredTarget {
  server: McpServer
  /** In `mcpServers`. */
  index: number
  /** Text of its configuration. */
  text: string
  /** Variables that it may read. */
  env: Env
  owner: OwnerOf
  /** Logins of the gateway; absent: there are none. */
  vault: Vault | undefined
}

/**
 * Starts or connects to a proxied server, and requests its declarations.
 * @param headers of a caller, for templates that read them
 * @returns the reason, as a text, if it does not answer
 */
export async function declaredBy(
  { server, index, text, env, owner, vault }: DeclaredTarget,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Declared | string> {
  const http = new HttpClient()
  const credentials = credentialsFor({ http, guards: guardsOfCommands(), log: silentLog, vault })(
    server,
    owner,
  )
  const path = ['mcpServers', index]
  const { connection, problems } = connectionOf(server, path, true)
  const fault = problems.find(({ severity }) => severity === 'error')
  if (fault) return fault.message
  const used = variablesUsed(text, env)
  const { definition } = compileDefinition(server, path, env, credentials, connection, used)
  const identity = credentials?.perCaller && headers.authorization !== undefined ? SOMEBODY : undefined
  const resolved = definition.resolve({ headers, query: () => ({}), identity })
  const options = { env, limits: DEFAULT_LIMITS, log: silentLog, version: VERSION }
  const timeout = server.startupTimeout
  const either = AbortSignal.any([signal, AbortSignal.timeout(2 * timeout)])
  try {
    return await readDeclared(definition, resolved, options, { timeout, signal: either })
  } finally {
    await http.drain()
  }
}
