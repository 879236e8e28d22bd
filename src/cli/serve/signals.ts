import { RELOAD_SIGNALS } from '../../notify/signal.ts'

/** What signals ask of `plantgw serve`. */
export interface Signals {
  /** Resolves with the name of the first SIGTERM or SIGINT. */
  readonly end: Promise<string>
  /** Runs at the second one, before the process exits at once with code 1. */
  onSecond: () => void
}

let hungUp: string | undefined
let onHangUp: ((signal: string) => void) | undefined

const hangUp = (signal: string) => {
  if (onHangUp) onHangUp(signal)
  else hungUp = signal
}

/**
 * From now on a signal to reload is remembered and does not end the process, as it would by default. May be called
 * again.
 */
export function catchHangUps(): void {
  for (const signal of RELOAD_SIGNALS)
    if (!process.listeners(signal).includes(hangUp)) process.on(signal, hangUp)
}

/** Calls `then` with the name of every signal to reload from now on, and once for those that came before. */
export function onHangUps(then: (signal: string) => void): void {
  onHangUp = then
  if (hungUp) then(hungUp)
  hungUp = undefined
}

/** From now on SIGTERM and SIGINT do not end the process by themselves. */
export function catchEnds(): Signals {
  let first: ((signal: string) => void) | undefined
  const signals = {
    end: new Promise<string>((resolve) => {
      first = resolve
    }),
    onSecond: () => {},
  }
  const caught = (signal: string) => {
    if (first) {
      first(signal)
      first = undefined
      return
    }
    signals.onSecond()
    process.exit(1)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) {
    // That of the first lines of the program ends it at once.
    process.removeAllListeners(signal)
    process.on(signal, caught)
  }
  return signals
}
