/** The part of an `AbortSignal` that requests use. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Resolves after some milliseconds, or at once when the signal aborts. */
export function waitFor(milliseconds: number, signal: CancelSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal?.addEventListener('abort', end)
  })
}

/** A cheaper `AbortController`, which with one listener costs a call 10 times as much (13 µs). */
export class Cancellation implements CancelSignal {
  aborted = false
  private readonly listeners: (() => void)[] = []

  /** Calls each listener once. */
  abort = (): void => {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.listeners.splice(0)) listener()
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.listeners.indexOf(listener)
    if (index >= 0) this.listeners.splice(index, 1)
  }
}
