import type { Configuration, Path } from '../../config/index.ts'
import { quote } from '../../text/index.ts'
import type { Advise } from './report.ts'

/** Lists in which an entry that stands twice does nothing, or hides a slip of the pen. */
export function checkLists({ servers, mcpServers, routers }: Configuration, advise: Advise) {
  for (const [i, { allowedTools }] of servers.entries())
    checkList(allowedTools, ['servers', i, 'allowedTools'], advise)
  for (const [i, { allowedTools, blockedTools }] of mcpServers.entries()) {
    checkList(allowedTools, ['mcpServers', i, 'allowedTools'], advise)
    checkList(blockedTools, ['mcpServers', i, 'blockedTools'], advise)
  }
  for (const [i, { cors }] of routers.entries()) {
    const plain = (text: string) => text.toLowerCase()
    for (const key of ['allowOrigins', 'allowMethods', 'allowHeaders', 'exposeHeaders'] as const)
      checkList(cors?.[key].map(plain), ['routers', i, 'cors', key], advise)
  }
}

function checkList(entries: readonly string[] | undefined, path: Path, advise: Advise) {
  const seen = new Set<string>()
  for (const [i, entry] of (entries ?? []).entries()) {
    if (!seen.has(entry)) seen.add(entry)
    else {
      const message = `\`${path.at(-1)}\` names ${quote(entry)} twice`
      advise('repeated-entry', [...path, i], message, 'Remove it, or write the one that was meant')
    }
  }
}
