import { inOneGo } from '../telemetry/loop-delay.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { Call } from './call.ts'
import { Fault } from './fault.ts'

/** Passes a call to its backend; exceptions are bugs, and their text is not sent to the client. */
export function dispatch(call: Call, to: { request(call: Call): Promise<unknown> | undefined }): void {
  try {
    const handled = inOneGo(call.request.method, call.callLog.prefix, () => to.request(call))
    if (handled) handled.catch(failing(call))
  } catch (error) {
    failing(call)(error)
  }
}

/** Fails a call because of a bug. */
export function failing(call: Pick<Call, 'request' | 'fail'>): (error: unknown) => void {
  return unexpected(call.request.method, () => call.fail(new Fault('internal', 'Internal error')))
}
