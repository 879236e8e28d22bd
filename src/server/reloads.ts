import type { Reload } from '../build/types.ts'
import { type Finding, hasErrors } from '../findings/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ReloadOutcome } from '../telemetry/metrics.ts'

/** A reload that is over. */
export interface PastReload extends Reload {
  /** What asked for it, such as `SIGHUP`; several when requests were folded into one reload. */
  triggers: string[]
  /** ISO 8601, UTC. */
  at: string
  /** How long it took. */
  ms: number
}

/** Asks for a reload; `trigger` says for the log what saw that something changed. It may reject. */
export type RequestReload = (trigger: string) => Promise<Reload>

/** Detects changes of configurations. It holds timers and connections: close it. */
export interface Watch {
  /** Begins. Changes since the watch was made count. */
  start(request: RequestReload): void
  /** May be called without `start`. */
  close(): Promise<void>
}

export interface Reloads {
  /**
   * Asks for a reload. It begins at once, or when the one under way has ended: all requests until then are one reload,
   * so that a burst is at most two, and what was written before the request is always seen.
   * @param trigger names what asks, for the log
   * @param name reads this configuration only; absent: all
   */
  request(trigger: string, name?: string): Promise<Reload>
  /** The last ones, the newest first. */
  history(): readonly PastReload[]
  /** Requests from now on never begin; resolves when none is under way. */
  close(): Promise<void>
}

/** Reloads that are remembered. */
const REMEMBERED = 20

/** @param made absent when it failed as a whole */
export type OnReload = (triggers: readonly string[], outcome: ReloadOutcome, made?: PastReload) => void

interface Waiting {
  triggers: Set<string>
  /** Undefined: all. */
  names: Set<string> | undefined
  done: Promise<Reload>
}

/**
 * Folds requests into reloads that never overlap, and logs each of them.
 * @param reload reads these configurations again, or all
 * @param onReload is called after each reload
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
