import { type Exchange, Fault, httpStatusOf, INTERNAL_ERROR, rpcError } from '../../mcp/index.ts'
import { severalStateless } from '../aggregate/stateless.ts'
import { resumed, withStates } from '../bridge/states.ts'
import type { Resolved } from '../definition.ts'
import type { UpstreamServer } from '../pool/server.ts'
import type { Backend } from './front.ts'
import { forwardStateless } from './modern-bytes.ts'
import { type Stateless, type StatelessOptions, serveStateless } from './stateless.ts'

export interface StandAloneParts {
  members: readonly UpstreamServer[]
  /** The only one, unless clients know several by their names. */
  only: UpstreamServer | undefined
  info: { name: string; version: string }
  resolve(exchange: Exchange): Resolved[] | Fault
  begin: StatelessOptions['begin']
  onClash(uri: string, server: string): void
  onDown(server: string, reason: string): void
}

/** Answers requests of 2026-07-28, each of which stands alone. */
export function createStandAlone(parts: StandAloneParts): Backend['stateless'] {
  const { members, only, info, resolve, begin, onClash, onDown } = parts

  return async (exchange, given, text, door, form) => {
    const refuse = (fault: Fault) => {
      const { message, challenge } = fault
      const headers = challenge === undefined ? undefined : { 'www-authenticate': challenge }
      return rpcError(exchange, httpStatusOf(fault), { code: INTERNAL_ERROR, message }, given.id, headers)
    }
    const resolved = resolve(exchange)
    if (resolved instanceof Fault) return refuse(resolved)
    const [first] = resolved as [Resolved]
    const { replicas } = exchange

    async function serve(server: Stateless, filter: UpstreamServer['upstream']['filter']): Promise<Response> {
      if (!replicas) return serveStateless(exchange, given, door, form, first, server, { filter, begin })
      const request = await resumed(exchange, replicas, given, text)
      if (request instanceof Response) return request
      const lasting = withStates(server, replicas)
      return serveStateless(exchange, request, door, form, first, lasting, { filter, begin })
    }

    if (!only) {
      const branches = await Promise.all(
        members.map(async (member, i) => {
          const { name, filter } = member.upstream
          const server = await member.stateless(resolved[i] as Resolved, given.params)
          if (server instanceof Fault) onDown(name, server.message)
          return { name, filter, resolved: resolved[i] as Resolved, server }
        }),
      )
      return serve(severalStateless(branches, info, onClash), undefined)
    }
    const { upstream, probe } = only
    const asked = probe.of(first, given.params)
    // A promise costs each call a turn, so what is known is not awaited.
    const protocol = asked instanceof Promise ? await asked : asked
    // A subscription is one that the gateway tells of reloads and ends, so it needs messages.
    const listens = given.method === 'subscriptions/listen'
    if (protocol === 'stateless' && upstream.definition.server.type === 'streamable-http' && !listens)
      return forwardStateless(exchange, given, text, first, upstream, { begin })
    if (protocol instanceof Fault) return refuse(protocol)
    return serve(only.bridge(protocol), upstream.filter)
  }
}
