import { within } from '../text/index.ts'

/** Work that took longer than its caller waits. It may still be done later. */
export class TimeOut extends Error {}

/** @throws TimeOut, and errors of the work */
export function inTime<R>(work: Promise<R>, milliseconds: number): Promise<R> {
  return within(milliseconds, work, () => {
    throw new TimeOut(`no answer in ${milliseconds / 1000} s`)
  })
}
