import { shorten } from '../text/index.ts'
import type { ToolWords } from './tool-words.ts'

/** Maximum groups named, of one server and in all, and characters of a name. */
const MAX_GROUPS = 80
const MAX_NAME = 60

/** `1,222 tools. Groups: repos (201), actions (183), …`, or one line of groups for each server. */
export function overviewOf(words: readonly (ToolWords | undefined)[]): string {
  const servers = new Map<string, Map<string, number>>()
  for (const one of words) {
    const { server = '', group = server } = one ?? {}
    const groups = servers.get(server) ?? new Map<string, number>()
    servers.set(server, groups.set(group, (groups.get(group) ?? 0) + 1))
  }
  const total = `${countText(words.length)} ${words.length === 1 ? 'tool' : 'tools'}.`
  const all = [...servers]
  const [only] = all
  if (all.length === 1 && only) return only[1].size > 1 ? `${total} Groups: ${countsText(only[1])}` : total
  // If each server is a single group, separate lines would be redundant.
  if (all.every(([server, groups]) => groups.size === 1 && groups.has(server)))
    return `${total} Servers: ${countsText(new Map(all.map(([server, groups]) => [server, groups.get(server)!])))}`
  const each = Math.max(3, Math.floor(MAX_GROUPS / all.length))
  const lines = all
    .slice(0, MAX_GROUPS)
    .map(([server, groups]) => `- ${shorten(server, MAX_NAME)}: ${countsText(groups, each)}`)
  const left = all.length - lines.length
  return [`${total} Servers, and their groups:`, ...lines, ...(left > 0 ? [`- ${left} more`] : [])].join('\n')
}

/** `repos (201), actions (183), 4 more`: largest first, equal ones by name. */
export function countsText(counts: ReadonlyMap<string, number>, most = MAX_GROUPS): string {
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  const shown = sorted.slice(0, most).map(([name, n]) => `${shorten(name, MAX_NAME)} (${countText(n)})`)
  const left = sorted.length - shown.length
  return [...shown, ...(left > 0 ? [`${left} more`] : [])].join(', ')
}

export function countText(count: number): string {
  return count.toLocaleString('en-US')
}
