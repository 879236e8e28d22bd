/** One message as it came to the client, with what differs from run to run replaced. */
export type Recorded = Record<string, unknown>

export interface Recording {
  /** In order of arrival. */
  messages: Recorded[]
  /** Waits until a message matches, or one already does. */
  until(matches: (message: Recorded) => boolean): Promise<void>
}

interface Tappable {
  onmessage?: unknown
}

type Handler = (message: Recorded, ...rest: unknown[]) => void

const CHANGING: [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, '<time>'],
  [/\d{1,2}:\d\d:\d\d [AP]M/g, '<time>'],
  [/\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4} \([^)]*\)/g, '<time>'],
]

function steady(message: unknown): Recorded {
  // A time may stand inside a blob, so that blobs are compared as the bytes they are.
  let text = JSON.stringify(message, (key, value) => {
    if (typeof value !== 'string') return value
    if (key === 'blob') return Buffer.from(value, 'base64').toString('latin1')
    // Sealed by the server, so that it is another one each time.
    return key === 'requestState' ? '<state>' : value
  })
  for (const [pattern, replacement] of CHANGING) text = text.replace(pattern, replacement)
  return JSON.parse(text) as Recorded
}

/** Records every message that a transport hands to its client. */
export function tap(transport: Tappable): Recording {
  const messages: Recorded[] = []
  const waiting = new Set<() => void>()
  let handler: Handler | undefined
  const tapped: Handler = (message, ...rest) => {
    messages.push(steady(message))
    for (const each of waiting) each()
    handler?.(message, ...rest)
  }
  Object.defineProperty(transport, 'onmessage', {
    get: () => handler && tapped,
    set: (value: Handler | undefined) => {
      handler = value
    },
  })
  return {
    messages,
    until: (matches) =>
      new Promise((resolve) => {
        const look = () => {
          if (!messages.some(matches)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}
