import { within } from '../text/index.ts'

/** The work takes longer than its caller waits. It may still complete later. */
export class TimeOut extends Error {}

/** Waits for `work`. @throws TimeOut; errors of `work` */
export function inTime<R>(work: Promise<R>, milliseconds: number): Promise<R> {
  return within(milliseconds, work, () => {
    throw new TimeOut(`no answer in ${milliseconds / 1000} s`)
  })
}
