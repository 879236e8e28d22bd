import { inOneGo } from '../telemetry/loop-delay.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { BackendSession } from './backend.ts'
import type { Call } from './call.ts'
import { Fault } from './fault.ts'

/** Hands a call to what answers it; what is thrown is a bug, and tells the client nothing of it. */
export function hand(call: Call, to: Pick<BackendSession, 'request'>): void {
  try {
    const handled = inOneGo(call.request.method, call.account.prefix, () => to.request(call))
    if (handled) handled.catch(failing(call))
  } catch (error) {
    failing(call)(error)
  }
}

/** Ends a call by a bug. */
export function failing(call: Call): (error: unknown) => void {
  return unexpected(call.request.method, () => call.fail(new Fault('internal', 'Internal error')))
}
