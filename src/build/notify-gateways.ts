import { type Identity, type Notifier, qualifiedName, type Settings } from '../config/index.ts'
import type { Guard } from '../net/index.ts'
import { notifierKey, notify } from '../notify/send.ts'
import { Outbound } from './outbound.ts'

/** A notification of a change; part of the output of `config` with `--format json`. */
export interface Notification {
  type: Notifier['type']
  ok: boolean
  message: string
}

/**
 * Notifies gateways of written changes, by the notifier of each configuration, or of the settings. A failure reverts
 * nothing, so it is a warning.
 */
export async function notifyGateways(
  changed: readonly (Identity & { notifier?: Notifier | undefined })[],
  settings: Settings,
): Promise<Notification[]> {
  const outbound = new Outbound(settings)
  const groups = new Map<string, { notifier: Notifier; guard?: Guard }>()
  for (const { tenant, notifier: own } of changed) {
    const owner = settings.tenants?.find(({ name }) => name === tenant)
    // Another version of the settings may have allowed it.
    const notifier = owner && !owner.notifier ? undefined : own
    const guard = outbound.guardsOf(tenant).named
    if (notifier) groups.set(`${notifierKey(notifier)} ${guard.key}`, { notifier, guard })
    // The operator knows the settings' notifier.
    else if (settings.notifier) groups.set('', { notifier: settings.notifier })
  }
  const names = new Set(changed.map((one) => qualifiedName(one)))
  return Promise.all([...groups.values()].map(({ notifier, guard }) => notifyOne(notifier, names, guard)))
}

async function notifyOne(
  notifier: Notifier,
  names: ReadonlySet<string>,
  guard: Guard | undefined,
): Promise<Notification> {
  const { type } = notifier
  try {
    // One change may need what another releases, such as a prefix, so several are read together.
    const name = names.size === 1 ? [...names][0] : undefined
    const { line, fault } = await notify(notifier, name, names, guard)
    return fault === undefined
      ? { type, ok: true, message: line }
      : { type, ok: false, message: `${line}; ${fault}` }
  } catch (error) {
    return {
      type,
      ok: false,
      message: `the change is written, but a gateway could not be notified: ${(error as Error).message}`,
    }
  }
}
