/** The part of an `AbortSignal` that requests use. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A `CancelSignal` of our own: an `AbortController` with one listener costs a call 10 times as much (13 µs). */
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
