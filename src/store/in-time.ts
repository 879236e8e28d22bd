/** Work that took longer than its caller waits. It may still be done later. */
export class TimeOut extends Error {}

/** @throws TimeOut, and errors of the work */
export async function inTime<R>(work: Promise<R>, milliseconds: number): Promise<R> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    const late = () => reject(new TimeOut(`no answer in ${milliseconds / 1000} s`))
    timer = setTimeout(late, milliseconds)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}
