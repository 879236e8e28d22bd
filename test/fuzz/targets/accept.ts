import { acceptedForm, takes, takesEvents } from '../../../src/mcp/http.ts'
import { holds, type Target } from '../target.ts'

export const accept: Target = {
  name: 'accept',
  about: 'the header Accept, against a plain reader of media ranges',
  tokens: [
    ...[...'application/json text/event-stream */* application/* text/* , ; q=0 q=1'.split(' '), ' ', '\t'],
    ...[...'q=0.000 ;q=0.0 ;q=0.001 Q=0 APPLICATION/JSON ,, q=00 "'.split(' '), '; charset=utf-8', ' ; '],
  ],
  // A header's own limit (16 KiB of all headers).
  maxLength: 16_384,
  budget: 50,
  ciRuns: 40_000,
  async start() {
    return { run }
  },
}

function run(input: string): void {
  const json = reference(input, 'application', 'json')
  const events = reference(input, 'text', 'event-stream')
  holds(takes(input, 'application', 'json') === json, 'takes differs for JSON')
  holds(takesEvents(input) === events, 'takesEvents differs')
  const form = json ? 'json' : events ? 'stream' : undefined
  holds(acceptedForm(input) === form, 'acceptedForm differs')
}

function reference(accept: string, type: string, subtype: string): boolean {
  for (const range of accept.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((each) => each.trim().toLowerCase())
    const refused = parameters.some(
      (each) => each.startsWith('q=') && ['0', '0.', '0.0', '0.00', '0.000'].includes(each.slice(2)),
    )
    if (!refused && [`${type}/${subtype}`, `${type}/*`, '*/*'].includes(name)) return true
  }
  return false
}
