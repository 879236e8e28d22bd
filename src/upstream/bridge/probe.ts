import type { JsonObject } from '../../json/index.ts'
import { Fault, isObject, SESSION_REVISIONS } from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import type { Upstream } from '../upstream.ts'
import type { Modern } from './modern.ts'

/** Whether a server speaks 2026-07-28, or only revisions with sessions. */
export type Era = 'modern' | 'session'

/** Milliseconds after which a server that speaks only sessions is asked again: it may have been updated. */
const SESSION_TTL = 300_000
/** Milliseconds of silence after which the probe goes on; servers of old need not answer it (2026-07-28, stdio). */
const SILENCE = 2_000
const INITIALIZE = {
  protocolVersion: SESSION_REVISIONS[0],
  capabilities: {},
  clientInfo: { name: 'plantgw', version: '' },
}
/** Addresses may come from templates over what callers send, so their number is bounded. */
const MAX_KNOWN = 1_000
/** Errors that only a server of 2026-07-28 gives. */
const MODERN_CODES = new Set<unknown>([-32020, -32021, -32022])

export interface Eras {
  /** At once when it is known, so that calls need not wait. */
  of(resolved: Resolved): Era | Promise<Era | Fault>
}

/** Finds out by `server/discover`, and remembers. */
export function createEras(upstream: Upstream, modern: Modern, now: () => number = Date.now): Eras {
  const known = new Map<string, { era: Era; at: number }>()
  const asking = new Map<string, Promise<Era | Fault>>()
  const { type } = upstream.definition.server
  const stdio = type === 'stdio'

  async function probe(resolved: Resolved, key: string): Promise<Era | Fault> {
    const era = await (stdio ? probeStdio(resolved) : modern.ask(resolved, 'server/discover').then(eraOf))
    // A server that cannot be reached has no era.
    if (typeof era !== 'string') return era
    if (era === 'session') modern.close()
    known.set(key, { era, at: now() })
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string)
    return era
  }

  /** A server that stays silent is asked a second thing, which one of old answers; a slow one answers the first. */
  async function probeStdio(resolved: Resolved): Promise<Era | Fault> {
    let silent: NodeJS.Timeout | undefined
    const discovered = modern.ask(resolved, 'server/discover').then(eraOf)
    const initialized = new Promise<Era>((resolve) => {
      silent = setTimeout(() => {
        const begun = (answer: JsonObject | Fault) => {
          if ('result' in answer && isObject(answer.result))
            silent = setTimeout(() => resolve('session'), SILENCE)
        }
        modern.ask(resolved, 'initialize', INITIALIZE).then(begun).catch(unexpected('initialize'))
      }, SILENCE)
    })
    const era = await Promise.race([discovered, initialized])
    clearTimeout(silent)
    return era
  }

  return {
    of(resolved) {
      if (type === 'sse') return 'session'
      const key = stdio ? '' : `${resolved.origin}${resolved.path}`
      const found = known.get(key)
      if (found && (found.era === 'modern' || now() - found.at < SESSION_TTL)) return found.era
      let probing = asking.get(key)
      if (!probing) {
        probing = probe(resolved, key).finally(() => asking.delete(key))
        asking.set(key, probing)
      }
      return probing
    },
  }
}

function eraOf(answer: Awaited<ReturnType<Modern['ask']>>): Era | Fault {
  if (answer instanceof Fault) {
    const { kind, status = 0 } = answer
    return kind === 'timeout' || (kind === 'status' && status >= 400 && status < 500) ? 'session' : answer
  }
  const { error, result } = answer
  if (isObject(result) && Array.isArray(result.supportedVersions)) return 'modern'
  return isObject(error) && MODERN_CODES.has(error.code) ? 'modern' : 'session'
}
