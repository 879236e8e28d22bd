import { Session } from 'node:inspector'

interface Block {
  startOffset: number
  endOffset: number
  count: number
}
interface Taken {
  result: { url: string; functions: { ranges: Block[] }[] }[]
}

export interface Coverage {
  /** Whether code ran since the last time that never ran before. */
  grew(): boolean
  /** Forgets what the last `grew` saw for the first time. */
  undo(): void
  /** Characters of the sources that ran so far. */
  size(): number
  close(): void
}

/** Which code of `src` runs, as V8 counts its blocks in this process. */
export function startCoverage(): Coverage {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  /** For each script which of its characters ran. */
  const seen = new Map<string, Uint8Array>()
  /** What the last look saw for the first time. */
  let fresh: { url: string; at: number }[] = []

  function paint(url: string, functions: Taken['result'][number]['functions']): boolean {
    let end = 0
    for (const { ranges } of functions) end = Math.max(end, ranges[0]!.endOffset)
    let known = seen.get(url)
    if (!known || known.length < end) {
      const grown = new Uint8Array(end)
      grown.set(known ?? [])
      seen.set(url, grown)
      known = grown
    }
    const now = new Uint8Array(end)
    // Inner functions and blocks come after those around them.
    for (const { ranges } of functions)
      for (const { startOffset, endOffset, count } of ranges)
        now.fill(count > 0 ? 1 : 0, startOffset, endOffset)
    let grew = false
    for (let i = 0; i < end; i++)
      if (now[i] && !known[i]) {
        known[i] = 1
        fresh.push({ url, at: i })
        grew = true
      }
    return grew
  }
  return {
    grew() {
      let grew = false
      fresh = []
      // The inspector of the own thread answers at once.
      session.post('Profiler.takePreciseCoverage', (_error, taken) => {
        for (const { url, functions } of (taken as Taken).result)
          if (/\/(?:src|dist)\//.test(url) && !url.includes('/node_modules/'))
            grew = paint(url, functions) || grew
      })
      return grew
    },
    undo() {
      for (const { url, at } of fresh) seen.get(url)![at] = 0
      fresh = []
    },
    size() {
      let size = 0
      for (const each of seen.values()) for (const ran of each) size += ran
      return size
    },
    close: () => session.disconnect(),
  }
}
