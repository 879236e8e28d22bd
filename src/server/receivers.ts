import { changed, EMPTY_TABLE } from '../build/table.ts'
import type { Prepared, Table } from '../build/types.ts'
import type { Notifier, RedisSettings } from '../config/index.ts'
import type { Guard } from '../net/index.ts'
import type { ReloadMessage } from '../notify/message.ts'
import { notifierKey } from '../notify/send.ts'
import { type Receiver, receiveReloads } from '../notify/subscriber.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Connection } from './live.ts'

export interface Receivers {
  /** Listens to exactly the notifiers of the process and of the configurations. */
  follow(table: Table): void
  /** The brokers it listens to. */
  connections(): Connection[]
  close(): void
}

interface Broker {
  redis: RedisSettings
  guard: Guard | undefined
}

/**
 * Requests reloads when brokers announce changes, with one connection for each broker.
 * @param own the notifier of the settings
 * @param request requests a reload of one configuration, or of all
 */
export function createReceivers(
  own: Notifier | undefined,
  request: (trigger: string, name?: string) => Promise<unknown>,
  log: Logger,
): Receivers {
  const open = new Map<string, Receiver>()
  let followed = EMPTY_TABLE.prepared
  /** Configurations whose changes are announced there. */
  const announced = new Map<string, Prepared>()
  const listen = ({ redis, guard }: Broker) => {
    const then = (message?: ReloadMessage) => {
      if (message) log.debug({ ...message, topic: redis.topic }, 'reload message received')
      // The result, or failure, is logged.
      request('redis', message?.name).catch(() => {})
    }
    return receiveReloads(redis, log, then, guard)
  }
  return {
    follow({ prepared }) {
      for (const [id] of changed(followed, prepared)) announced.delete(id)
      for (const [id, one] of changed(prepared, followed)) if (one.notifier) announced.set(id, one)
      followed = prepared
      const wanted = new Map<string, Broker>()
      for (const { notifier, guard } of [{ notifier: own, guard: undefined }, ...announced.values()])
        if (notifier?.type === 'redis' && notifier.redis)
          wanted.set(`${notifierKey(notifier)} ${guard?.key ?? ''}`, { redis: notifier.redis, guard })
      for (const [key, receiver] of open) {
        if (wanted.has(key)) continue
        receiver.close()
        open.delete(key)
      }
      for (const [key, broker] of wanted) if (!open.has(key)) open.set(key, listen(broker))
    },
    connections: () =>
      [...open.values()].map((one) => ({ to: 'broker' as const, label: one.label, up: one.isUp() })),
    close() {
      for (const receiver of open.values()) receiver.close()
      open.clear()
    },
  }
}
