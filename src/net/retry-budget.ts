/** Milliseconds of one part of the time that is looked back on. */
const SLICE = 10_000
/** Parts that are looked back on: a minute. */
const SLICES = 6
/** Share of recent calls that may be retried, so that an outage does not multiply the upstream's load. */
const SHARE = 0.2
/** Repeated requests in that time, however few calls there are. */
const FLOOR = 10

interface Slice {
  /** The number of its time since the clock began. */
  at: number
  calls: number
  repeats: number
}

/** How many requests to one upstream may be repeated. */
export class RetryBudget {
  private readonly slices: Slice[] = Array.from({ length: SLICES }, () => ({ at: -1, calls: 0, repeats: 0 }))

  constructor(private readonly now: () => number) {}

  /** Counts a call. */
  call(): void {
    this.current().calls++
  }

  /** Takes a request that is to be repeated; false: it may not be. */
  take(): boolean {
    const current = this.current()
    const recent = this.slices.filter(({ at }) => at > current.at - SLICES)
    const sum = (key: 'calls' | 'repeats') => recent.reduce((all, slice) => all + slice[key], 0)
    if (sum('repeats') + 1 > Math.max(FLOOR, SHARE * sum('calls'))) return false
    current.repeats++
    return true
  }

  private current(): Slice {
    const at = Math.floor(this.now() / SLICE)
    const slice = this.slices[at % SLICES]!
    if (slice.at !== at) Object.assign(slice, { at, calls: 0, repeats: 0 })
    return slice
  }
}
