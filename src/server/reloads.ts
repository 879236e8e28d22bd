import type { Reload } from '../build/types.ts'
import { type Finding, hasErrors } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ReloadOutcome } from '../telemetry/metrics.ts'

/** A finished reload. */
export interface PastReload extends Reload {
  /** Causes, such as `SIGHUP`; several if requests were combined. */
  triggers: string[]
  /** ISO 8601, UTC. */
  at: string
  /** Duration in milliseconds. */
  ms: number
}

/** Requests a reload; `trigger` names the cause in the log. May reject. */
export type RequestReload = (trigger: string) => Promise<Reload>

/** Detects changes of configurations. It holds timers and connections, so close it. */
export interface Watch {
  /** Starts reporting changes, including those since the watch was created. */
  start(request: RequestReload): void
  /** May be called without `start`. */
  close(): Promise<void>
}

export interface Reloads {
  /**
   * Requests a reload. It begins at once, or after the current one: all requests until then are combined, so a burst
   * causes at most two reloads, and earlier writes are always seen.
   * @param trigger cause, for the log
   * @param name the only configuration to read; absent: all
   */
  request(trigger: string, name?: string): Promise<Reload>
  /** The latest reloads, newest first. */
  history(): readonly PastReload[]
  /** Refuses new requests; resolves when no reload is running. */
  close(): Promise<void>
}

/** Number of remembered reloads. */
const REMEMBERED = 20

/** @param made absent if it failed as a whole */
export type OnReload = (triggers: readonly string[], outcome: ReloadOutcome, made?: PastReload) => void

interface Waiting {
  triggers: Set<string>
  /** Undefined: all. */
  names: Set<string> | undefined
  done: Promise<Reload>
}

/**
 * Combines requests into reloads that never overlap, and logs each.
 * @param reload reads these configurations again, or all
 * @param onReload called after each reload
 */
export function createReloads(
  reload: (names?: ReadonlySet<string>) => Promise<Reload>,
  log: Logger,
  onReload: OnReload = () => {},
): Reloads {
  const past: PastReload[] = []
  let last: Promise<unknown> = Promise.resolve()
  let waiting: Waiting | undefined
  let closed = false

  async function begin(own: Waiting): Promise<Reload> {
    waiting = undefined
    if (closed) throw new Error('the gateway is ending')
    const at = new Date()
    const started = performance.now()
    const triggers = [...own.triggers]
    try {
      const result = await reload(own.names)
      const ms = Math.round(performance.now() - started)
      const made: PastReload = { ...result, triggers, at: at.toISOString(), ms }
      past.unshift(made)
      past.length = Math.min(past.length, REMEMBERED)
      report(made, log)
      onReload(triggers, outcomeOf(made), made)
      return result
    } catch (err) {
      log.error({ err, trigger: triggers.join() }, 'reload failed; keeping the current configuration')
      onReload(triggers, 'failed')
      throw err
    }
  }

  return {
    request(trigger, name) {
      if (!waiting) {
        const own: Waiting = {
          triggers: new Set(),
          names: new Set(),
          done: last.then(() => begin(own)),
        }
        waiting = own
        last = own.done.catch(() => {})
      }
      waiting.triggers.add(trigger)
      if (name === undefined) waiting.names = undefined
      else waiting.names?.add(name)
      return waiting.done
    },
    history: () => past,
    async close() {
      closed = true
      await last
    },
  }
}

function outcomeOf({ refused, added, changed, removed }: PastReload): ReloadOutcome {
  if (refused.length) return 'refused'
  return added.length + changed.length + removed.length > 0 ? 'applied' : 'unchanged'
}

function report({ findings, triggers, at: _, ...summary }: PastReload, log: Logger): void {
  for (const found of findings) if (found.severity === 'error') log.error(lineOf(found), found.message)
  const line = { trigger: triggers.join(), ...summary }
  if (hasErrors(findings))
    log.error(line, 'reloaded with errors; invalid configurations keep their previous version')
  else log.info(line, 'reloaded')
}

function lineOf({ code, file, range, hint }: Finding) {
  return { code, file, line: range?.start.line, hint }
}
