/** Work that went on for longer than whoever waits has patience. It may be done later all the same. */
export class TimeOut extends Error {}

/** @throws TimeOut; what the work throws */
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
