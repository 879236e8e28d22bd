import { RELOAD_SIGNALS } from '../../notify/signal.ts'

/** Signals handled by `plantgw serve`. */
interface Signals {
  /** Resolves with the name of the first SIGTERM or SIGINT. */
  readonly end: Promise<string>
  /** Called at the second one, before the process exits with code 1. */
  onSecond: () => void
}

let hungUp: string | undefined
let onHangUp: ((signal: string) => void) | undefined

const hangUp = (signal: string) => {
  if (onHangUp) onHangUp(signal)
  else hungUp = signal
}

/** From now on reload signals are remembered instead of ending the process. May be called again. */
export function catchHangUps(): void {
  for (const signal of RELOAD_SIGNALS)
    if (!process.listeners(signal).includes(hangUp)) process.on(signal, hangUp)
}

/** Calls `then` with every reload signal from now on, and once for earlier ones. */
export function onHangUps(then: (signal: string) => void): void {
  onHangUp = then
  if (hungUp) then(hungUp)
  hungUp = undefined
}

/** From now on SIGTERM and SIGINT no longer end the process directly. */
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
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const others = process.listeners(signal)
    process.on(signal, caught)
    // The handler of the entry script exits at once. Without any handler between, Node would lose a signal that has come.
    for (const other of others) process.off(signal, other)
  }
  return signals
}
