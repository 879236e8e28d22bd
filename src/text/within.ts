/**
 * The result of `work`, or of `late` after `ms` milliseconds; the work may still end later.
 * @param late default: undefined
 * @throws errors of the work, and of `late`
 */
export function within<R, L = undefined>(
  ms: number,
  work: Promise<R>,
  late: () => L = () => undefined as L,
): Promise<R | L> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  return Promise.race([work, limit.then(late)]).finally(() => clearTimeout(timer))
}
