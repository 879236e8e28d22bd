import type { Notifier } from '../config/index.ts'
import type { Guard } from '../net/index.ts'
import { callReload } from './api.ts'
import { writeMessage } from './message.ts'
import { brokerLabel, publish } from './redis.ts'
import type { Notified } from './reload-answer.ts'
import { signalReload } from './signal.ts'

/**
 * Notifies gateways that configurations changed.
 * @param name of the only configuration that changed; absent: any may have changed
 * @param about names of the configurations to report on; absent: all
 * @param guard checks the target of the notifier; absent: every target is allowed, as for a notifier of the settings
 * @throws Error that names the target, without credentials
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
  if (!redis) throw new Error(`the notifier of type ${type} has no key \`${type}\`: add its target there`)
  await publish(redis, writeMessage(name), guard)
  return {
    line: `published to ${redis.topic} at ${brokerLabel(redis)}: see the logs of the gateways for the changes`,
  }
}

/** The same text for notifiers with the same type and target. */
export function notifierKey({ type, ...rest }: Notifier): string {
  return JSON.stringify([type, rest[type]])
}
