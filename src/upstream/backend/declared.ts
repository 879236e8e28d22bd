import { isObject, type JsonObject } from '../../json/index.ts'
import { Fault, ownRequest } from '../../mcp/index.ts'
import { Cancellation } from '../../net/index.ts'
import type { Resolved } from '../definition.ts'
import type { UpstreamServer } from '../pool/server.ts'
import type { ServerView } from '../server-view.ts'

/** The first page of a list of one server. */
export interface DeclaredList {
  server: string
  kind: 'tools' | 'prompts'
  /** Why there is no list; undefined: there is one. */
  fault?: string
  items?: DeclaredItem[]
}

export interface DeclaredItem {
  /** As the server declares it. */
  declared: JsonObject
  /** As clients see it; undefined: it is hidden. */
  shown: JsonObject | undefined
  /** How it differs from the pin file; undefined: nothing is pinned. */
  pin: 'same' | 'added' | 'changed' | undefined
}

/** The lists of one server, beside what clients see of them. */
export async function declaredBy(
  member: UpstreamServer,
  view: ServerView,
  resolved: Resolved,
): Promise<DeclaredList[]> {
  const kinds = (['tools', 'prompts'] as const).map(async (kind): Promise<DeclaredList> => {
    const list = { server: member.upstream.name, kind }
    const method = `${kind}/list`
    const server = await member.stateless(resolved, {})
    if (server instanceof Fault) return { ...list, fault: server.message }
    const raw = await server.request({
      message: ownRequest(method, {}, 0),
      headers: {},
      caller: undefined,
      resolved,
      signal: new Cancellation(),
      onMessage() {},
    })
    if (raw instanceof Fault) return { ...list, fault: raw.message }
    const items = isObject(raw?.result) ? raw.result[kind] : undefined
    if (!Array.isArray(items)) return { ...list, items: [] }
    return {
      ...list,
      items: items.filter(isObject).map((declared) => {
        const { result } = view.shown(method, { result: { [kind]: [declared] } })
        const seen = isObject(result) && Array.isArray(result[kind]) ? result[kind][0] : undefined
        return { declared, shown: isObject(seen) ? seen : undefined, pin: view.pinOf(kind, declared) }
      }),
    }
  })
  return Promise.all(kinds)
}
