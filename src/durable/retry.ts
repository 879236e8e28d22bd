/** Milliseconds after the first failure. */
const FIRST_PAUSE = 250

/**
 * Milliseconds until what failed is tried again: twice as long after each failure, and of many that failed together not
 * all at the same moment.
 * @param failures before this one
 * @param longest milliseconds
 */
export function retryPause(failures: number, longest: number): number {
  return Math.min(longest, FIRST_PAUSE * 2 ** failures) * (0.5 + Math.random() / 2)
}
