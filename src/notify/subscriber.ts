import type { RedisSettings } from '../config/index.ts'
import { type Guard, lastingConnection } from '../net/index.ts'
import { faultHint } from '../store/fault-hint.ts'
import type { Logger } from '../telemetry/log.ts'
import { type ReloadMessage, readMessage } from './message.ts'
import { brokerError, brokerLabel, connectRedis } from './redis.ts'

export interface Receiver {
  /** URL of the broker, without credentials. */
  readonly label: string
  /** Whether it is subscribed now. */
  isUp(): boolean
  close(): void
}

/**
 * Subscribes to the topic, and again after each lost connection. Calls `then` without a message after each
 * subscription, because messages published before it are lost.
 * @param then must not throw
 * @param guard checks the address of the broker; absent: every address is allowed
 */
export function receiveReloads(
  settings: RedisSettings,
  log: Logger,
  then: (message?: ReloadMessage) => void,
  guard?: Guard,
): Receiver {
  const line = { broker: brokerLabel(settings), topic: settings.topic }

  function receive(text: string): void {
    const message = readMessage(text)
    if (message) then(message)
    else log.warn({ ...line, message: text.slice(0, 200) }, 'ignored an invalid reload message')
  }

  const connection = lastingConnection({
    name: 'the broker of reload messages',
    async connect(attempt, signal, lose) {
      const redis = await connectRedis(settings, { attempt, guard, signal })
      redis.on('message', (_, text) => receive(text))
      redis.once('end', () => lose(new Error('the connection was closed')))
      await redis.subscribe(settings.topic)
      return redis
    },
    probe: (redis) => redis.ping(),
    onUp(wasLost) {
      if (wasLost) log.info(line, 'reconnected to the reload broker')
      then()
    },
    onDown(error) {
      const fault = brokerError(settings, error)
      log.error(
        { ...line, reason: fault.message, hint: faultHint(fault) },
        'lost connection to the reload broker; reconnecting, will reload afterwards',
      )
    },
  })
  return {
    label: line.broker,
    isUp: () => connection.current() !== undefined,
    close: connection.close,
  }
}
