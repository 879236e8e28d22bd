/** Milliseconds after the first failure that is waited for. */
export const FIRST_PAUSE = 250

/** Twice as long after each failure. @param failures before this one @param first, longest milliseconds */
export function pauseOf(failures: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** failures)
}

/**
 * Milliseconds until something that failed is tried again, with jitter: things that failed together are not all tried
 * again at the same moment.
 * @param failures before this one
 * @param longest milliseconds
 */
export function retryPause(failures: number, longest: number): number {
  return pauseOf(failures, FIRST_PAUSE, longest) * (0.5 + Math.random() / 2)
}
