import type { Notifier } from '../config/index.ts'
import type { Guard } from '../net/index.ts'
import { callReload } from './api.ts'
import { writeMessage } from './message.ts'
import { brokerLabel, publish } from './redis.ts'
import type { Notified } from './reload-answer.ts'
import { signalReload } from './signal.ts'

/**
 * Tells gateways that configurations changed.
 * @param name the only one that changed
 * @param about the configurations that the answer reports; absent: all
 * @param guard judges the target of the notifier; absent: any is allowed, as for a notifier of the settings
 * @throws Error that says what could not be reached, without a credential
 */
export async function notify(
  notifier: Notifier,
  name?: string,
  about?: ReadonlySet<string>,
  guard?: Guard,
): Promise<Notified> {
  const { type, signal, api, redis } = notifier
  if (type === 'signal' && signal) return signalReload(signal.pid, signal.signal, about)
  if (type === 'api' && api) return callReload(api, name, about, guard)
  if (!redis) throw new Error(`the notifier of type ${type} says nothing of where to`)
  await publish(redis, writeMessage(name), guard)
  return {
    line: `published to ${redis.topic} at ${brokerLabel(redis)}: see the logs of the gateways for the changes`,
  }
}

/** Equal for notifiers that reach the same gateways. */
export function notifierKey({ type, ...rest }: Notifier): string {
  return JSON.stringify([type, rest[type]])
}
