import type { ServerLimits } from '../config/model.ts'

/** The place of a worker among those that share the limits. */
export interface Share {
  /** From 1 on. */
  worker: number
  workers: number
}

/** Limits that each worker counts by itself. */
const DIVIDED = [
  'maxSessions',
  'maxSessionsPerPrefix',
  'maxSessionsPerCaller',
  'maxCallsPerPrefix',
  'maxCallsPerCaller',
  'maxFailedLogins',
  'maxBuffered',
] as const

/** The part of a worker in a limit. All parts add up to the limit; where it is smaller than the number of workers, each has 1. */
export function partOf(limit: number, { worker, workers }: Share): number {
  return Math.max(1, Math.floor(limit / workers) + (worker <= limit % workers ? 1 : 0))
}

/** The limits of a worker. @param share absent: there is one process */
export function partsOf(limits: ServerLimits, share: Share | undefined): ServerLimits {
  const parts = { ...limits }
  for (const name of DIVIDED) {
    const limit = limits[name]
    if (share && limit !== undefined) parts[name] = partOf(limit, share)
  }
  return parts
}
