import { isAbsolute } from 'node:path'
import type { ProxySettings, ServerTls } from '../config/model.ts'
import { type Connection, isPem, readClientTls } from '../net/index.ts'
import type { Problem } from './types.ts'

/** A server of tools or an MCP server with connection settings. */
interface Owner {
  tls?: ServerTls
  proxy?: ProxySettings
}

/**
 * Connection settings of a server, and the faults of its certificates. Never throws.
 * @param readsFiles whether the configuration may refer to files
 */
export function connectionOf(
  { tls, proxy }: Owner,
  path: Problem['path'],
  readsFiles: boolean,
): { connection: Connection; problems: Problem[] } {
  // Other faults are reported by the checks of configurations.
  if (!tls || !isReadable(tls, readsFiles)) return { connection: { proxy }, problems: [] }
  const { tls: made, faults } = readClientTls(tls)
  const problems = faults.map(({ member, message, hint, isOfTime }): Problem => {
    const severity = isOfTime ? 'warning' : 'error'
    return { path: [...path, 'tls', member], code: 'tls-file', severity, message, hint }
  })
  return { connection: { proxy, tls: made }, problems }
}

/** Changes when a file named in `tls` changes; empty without files. */
export function connectionStamp(owners: readonly Owner[], readsFiles: boolean): string {
  return owners
    .flatMap(({ tls }) =>
      tls && isReadable(tls, readsFiles) && pemsOf(tls).some((one) => !isPem(one)) ? tls : [],
    )
    .map((tls) => {
      const { tls: made, faults } = readClientTls(tls)
      return made?.key ?? faults.map(({ message }) => message).join('\n')
    })
    .join('\n')
}

function pemsOf({ ca, cert, key }: ServerTls): string[] {
  return [ca, cert, key].filter((one) => one !== undefined)
}

function isReadable(tls: ServerTls, readsFiles: boolean): boolean {
  return pemsOf(tls).every((one) => isPem(one) || (readsFiles && isAbsolute(one)))
}
