import type { Configuration, ReadConfiguration, Tool } from '../../config/index.ts'
import type { Path } from '../../findings/index.ts'
import { stringify } from '../../json/index.ts'

/** Parts of a request and its result. */
const PARTS = ['method', 'endpoint', 'headers', 'requestBody', 'responseBody', 'errorBody'] as const

/**
 * Whether a tool is rendered with other values than the file's: missing or faulty values are replaced by harmless ones
 * to find further findings, and unset variables stay as written.
 */
export function isInvented(
  read: ReadConfiguration,
  { servers, tools }: Configuration,
  tool: Tool,
  server: number,
): boolean {
  const own: Path = ['tools', tools.indexOf(tool)]
  const config: Path = ['servers', server, 'config']
  const readsConfig = /\bConfig\b/.test(stringify(PARTS.map((part) => tool[part] ?? null)))
  const paths = [
    ...PARTS.map((part): Path => [...own, part]),
    ...Object.keys(tool.headers).map((name): Path => [...own, 'headers', name]),
    ...(readsConfig ? [['servers'], ['servers', server], config] : []),
    ...(readsConfig ? Object.keys(servers[server]?.config ?? {}).map((key): Path => [...config, key]) : []),
  ]
  return paths.some((path) => read.doubtful(path) || isUnset(read, path))
}

/** Whether the value contains an unset variable. */
function isUnset({ findings, locate }: ReadConfiguration, path: Path): boolean {
  const range = path.length > 2 ? locate(path) : undefined
  return findings.some(
    (found) =>
      found.code === 'env-unset' &&
      found.range !== undefined &&
      range !== undefined &&
      found.range.start.offset >= range.start.offset &&
      found.range.end.offset <= range.end.offset,
  )
}
