import type { Middleware } from '../call.ts'

/** Logs, counts, audits and traces the call when it has ended, and remembers it for the console. */
export const record: Middleware = async (call, next) => {
  const remember = call.callLog.recorder?.begin(call)
  const answer = await next()
  call.record(answer.end, answer.status)
  remember?.(answer)
  return answer
}
