import type { Json } from '../json/index.ts'
import { visible } from '../mcp/visible.ts'
import { isHeaderName } from '../openapi/tool-names.ts'
import type { ClientServer } from './bridges.ts'

/**
 * A server without invisible characters, and without variables and headers that cannot be set, each reported as a note.
 * @returns the reason, as text, if it cannot be used
 */
export function startable(given: ClientServer): ClientServer | string {
  if ([given.command ?? '', ...given.args].some((word) => word.includes('\0')))
    return 'its command contains a null byte'
  const env = parted(given.env, isVariable)
  const headers = parted(given.headers, isHeader)
  const left = [
    ...env.left.map((name) => `its variable ${JSON.stringify(name)} is left out: no process can have it`),
    ...headers.left.map((name) => `its header ${JSON.stringify(name)} is left out: it cannot be sent`),
  ]
  const sound = { ...given, env: env.kept, headers: headers.kept, notes: [...given.notes, ...left] }
  // Characters removed later must not join into a template or variable.
  const server = visible(sound as unknown as Json) as unknown as ClientServer
  if ([server.command ?? '', ...server.args].some((word) => word.includes('{{')))
    return 'its command contains `{{`, which would be a template'
  return (server.url === undefined ? undefined : faultOf(server.url)) ?? server
}

/** A client variable may represent any part. */
function faultOf(url: string): string | undefined {
  if (/^\$\{/.test(url)) return undefined
  const [, scheme = ''] = /^([a-z][a-z\d+.-]{0,20}):/i.exec(url) ?? []
  if (!/^https?$/i.test(scheme)) return 'its URL is neither http nor https'
  return url.includes('${') || URL.canParse(url) ? undefined : 'its URL is not valid'
}

function isVariable(name: string, value: string): boolean {
  return name !== '' && !/[=\0]/.test(name) && !value.includes('\0')
}

/** RFC 9110, 5.5. */
function isHeader(name: string, value: string): boolean {
  return isHeaderName(name) && !/[^\t\x20-\x7e\x80-\xff]/.test(value)
}

function parted(all: Readonly<Record<string, string>>, isKept: (name: string, value: string) => boolean) {
  const entries = Object.entries(all)
  return {
    kept: Object.fromEntries(entries.filter((one) => isKept(...one))),
    left: entries.filter((one) => !isKept(...one)).map(([name]) => name),
  }
}
