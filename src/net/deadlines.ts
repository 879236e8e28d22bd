/** What ends by itself at a time, unless it ends before. */
export interface Due {
  /** Of `performance.now()`. */
  due: number
  expire(): void
  earlier?: Due | undefined
  later?: Due | undefined
}

/**
 * Ends what is not over in time, by one timer for all: nearly everything is over long before, and a timer of its own takes
 * a call 2 µs. It keeps no process alive, as the sockets do for which somebody waits.
 */
export class Deadlines {
  /** The first and the last of a ring, in the order of `add`. */
  readonly #ring: Due = { due: Number.POSITIVE_INFINITY, expire() {} }
  #timer: NodeJS.Timeout | undefined
  /** When the timer goes off. */
  #next = Number.POSITIVE_INFINITY

  constructor() {
    this.#ring.earlier = this.#ring
    this.#ring.later = this.#ring
  }

  add(one: Due): void {
    const last = this.#ring.earlier!
    one.earlier = last
    one.later = this.#ring
    last.later = one
    this.#ring.earlier = one
    if (one.due < this.#next) this.#wake(one.due)
  }

  /** Also of what is not there. */
  remove(one: Due): void {
    const { earlier, later } = one
    if (!earlier || !later) return
    earlier.later = later
    later.earlier = earlier
    one.earlier = undefined
    one.later = undefined
  }

  #wake(at: number): void {
    clearTimeout(this.#timer)
    this.#next = at
    this.#timer = setTimeout(() => this.#look(), Math.max(1, at - performance.now())).unref()
  }

  /** Ends what is due, and waits for what is due next. */
  #look(): void {
    const now = this.#next
    let next = Number.POSITIVE_INFINITY
    const late: Due[] = []
    for (let one = this.#ring.later!; one !== this.#ring; one = one.later!) {
      if (one.due <= now) late.push(one)
      else next = Math.min(next, one.due)
    }
    this.#next = Number.POSITIVE_INFINITY
    if (next < Number.POSITIVE_INFINITY) this.#wake(next)
    for (const one of late) {
      this.remove(one)
      one.expire()
    }
  }
}
