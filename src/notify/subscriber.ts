import type { Redis } from 'ioredis'
import type { RedisSettings } from '../config/index.ts'
import { type Guard, retryPause } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { type ReloadMessage, readMessage } from './message.ts'
import { brokerError, brokerLabel, connectRedis } from './redis.ts'

/** Maximum milliseconds before reconnecting. */
const LONGEST_PAUSE = 15_000

export interface Receiver {
  /** Names the broker, without credentials. */
  readonly label: string
  /** Whether messages would come. */
  isUp(): boolean
  close(): void
}

/**
 * Listens on the topic, and connects and subscribes again by itself. What is published without a connection is lost,
 * so `then` is called without a message each time there is one.
 * @param then must not throw
 * @param guard judges where the broker is; absent: anywhere is good
 */
export function receiveReloads(
  settings: RedisSettings,
  log: Logger,
  then: (message?: ReloadMessage) => void,
  guard?: Guard,
): Receiver {
  const line = { broker: brokerLabel(settings), topic: settings.topic }
  let closed = false
  let lost = false
  let up = false
  let attempts = 0
  let timer: NodeJS.Timeout | undefined
  let redis: Redis | undefined

  function begin(): void {
    connect().catch(unexpected('the broker of reload messages'))
  }

  async function connect(): Promise<void> {
    let own: Redis | undefined
    let probe: NodeJS.Timeout | undefined
    let over = false
    const lose = (error: Error) => {
      if (over) return
      over = true
      clearInterval(probe)
      own?.disconnect()
      redis = undefined
      up = false
      if (closed) return
      if (!lost)
        log.error(
          { ...line, reason: brokerError(settings, error).message },
          'lost connection to the reload broker; reconnecting, will reload afterwards',
        )
      lost = true
      timer = setTimeout(begin, retryPause(attempts++, LONGEST_PAUSE))
    }
    try {
      own = await connectRedis(settings, attempts, guard)
      if (closed) return own.disconnect()
      redis = own
      own.on('message', (_, text) => receive(text))
      own.once('end', () => lose(new Error('the connection was closed')))
      await own.subscribe(settings.topic)
    } catch (error) {
      return lose(error as Error)
    }
    attempts = 0
    up = true
    if (lost) log.info(line, 'reconnected to the reload broker')
    lost = false
    probe = setInterval(() => own.ping().catch(lose), 30_000)
    then()
  }

  function receive(text: string): void {
    const message = readMessage(text)
    if (message) then(message)
    else log.warn({ ...line, message: text.slice(0, 200) }, 'ignored an invalid reload message')
  }

  begin()
  return {
    label: line.broker,
    isUp: () => up,
    close() {
      closed = true
      clearTimeout(timer)
      redis?.disconnect()
    },
  }
}
