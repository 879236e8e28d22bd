import { memory } from '../../../src/access/memory.ts'
import { eventParser, type ServerEvent } from '../../../src/net/index.ts'
import { createRandom } from '../random.ts'
import { holds, type Target } from '../target.ts'

export const sse: Target = {
  name: 'sse',
  about: 'server-sent events in any pieces, against a reader of the whole text',
  tokens: [
    ...[
      'data: ',
      'data:',
      'data',
      'event: ',
      'event:message',
      'id: 1',
      'retry: 5',
      ':',
      ': comment',
      '\n',
      '\r',
    ],
    ...['\r\n', '\n\n', '\r\r', '\r\n\r\n', '\n\r', '{"jsonrpc":"2.0","id":1,"result":{}}', '\0', 'endpoint'],
  ],
  ciRuns: 60_000,
  async start() {
    return { run }
  },
}

const bytes = (text: string): number => Buffer.byteLength(text)

function run(input: string): void {
  const expected = reference(input)
  const ample = bytes(input) + 100
  const whole = collect([input], ample)
  holds(whole.tooLarge === 0, 'an event within the limit was dropped')
  holds(same(whole.events, expected), 'events in one piece differ from the specification')
  // The pieces follow from the text, so that an input fails again.
  const random = createRandom(input.length * 31 + (input.charCodeAt(0) || 0))
  const pieces: string[] = []
  for (let at = 0; at < input.length; ) {
    const size = random.once(3) ? random.below(20) : random.below(4)
    pieces.push(input.slice(at, at + size))
    at += size
  }
  holds(same(collect(pieces, ample).events, expected), 'events in pieces differ from those in one piece')
  const limit = 16
  const bounded = collect(pieces, limit)
  holds(
    bounded.events.every(({ data }) => bytes(data) <= limit),
    'an event is larger than the limit',
  )
  const small =
    expected.every(({ data }) => bytes(data) < limit) &&
    input.split(/[\r\n]/).every((line) => bytes(line) <= limit)
  if (small) holds(same(bounded.events, expected), 'an event within a small limit was dropped')
}

function collect(pieces: readonly string[], limit: number) {
  const events: ServerEvent[] = []
  let tooLarge = 0
  const parser = eventParser(
    limit,
    (event) => void events.push(event),
    () => void tooLarge++,
    memory.reserve(),
  )
  for (const piece of pieces) parser(piece)
  return { events, tooLarge }
}

/** HTML 9.2.6, over the whole text; without the fields that the gateway does not use. */
function reference(text: string): ServerEvent[] {
  const found: ServerEvent[] = []
  // A byte order mark is no part of the stream.
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  // The last has not ended.
  lines.pop()
  let event = ''
  let data: string[] = []
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) found.push({ event: event || 'message', data: data.join('\n') })
      event = ''
      data = []
      continue
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line)!
    if (field === 'event') event = value
    if (field === 'data') data.push(value)
  }
  return found
}

function same(one: readonly ServerEvent[], other: readonly ServerEvent[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ event, data }, i) => event === other[i]!.event && data === other[i]!.data)
  )
}
