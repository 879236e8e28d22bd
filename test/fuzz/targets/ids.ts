import { createTickets } from '../../../src/cluster/tickets.ts'
import { PendingInput } from '../../../src/mcp/index.ts'
import { open, post, rpc, wire } from '../../support/wire.ts'
import { holds, type Target } from '../target.ts'

const BOUND = { prefix: '/one', caller: 'me' }

export const ids: Target = {
  name: 'ids',
  about: 'session ids, sealed ids of replicas, handles of parked calls: only the very text opens',
  tokens: [
    '-',
    '_',
    '=',
    '+',
    '/',
    'A',
    'AA',
    'null',
    'undefined',
    '__proto__',
    '\0',
    '%00',
    ' ',
    ',',
    'x'.repeat(44),
  ],
  ciRuns: 4_000,
  async start() {
    const tickets = createTickets({ secrets: ['a secret of the fuzz run'] }, 'http://127.0.0.1:1')
    const ticket = { kind: 'session', id: 'a', revision: '2025-11-25' } as const
    const issued = tickets.issue({ ...ticket, key: 'k', upstream: 'u' }, BOUND)
    const sealed = tickets.seal('waiting', BOUND)
    const pending = new PendingInput<string>()
    const bound = 'the digest of a request'
    const handle = pending.add('parked', bound, 'me', () => {})
    const { app, registry } = await wire()
    const session = { id: (await open(app))['mcp-session-id'] }
    const valid = new Set([issued, sealed, handle, session.id])

    return {
      seeds: [...valid, `${issued}=`, `${session.id}, ${session.id}`],
      async run(input) {
        holds(
          (tickets.read(input, BOUND) !== undefined) === (input === issued),
          'a session id that was not issued opens',
        )
        holds(
          (tickets.unseal(input, BOUND) !== undefined) === (input === sealed),
          'a state that was not sealed opens',
        )
        holds(
          tickets.read(input, { ...BOUND, prefix: '/two' }) === undefined,
          'a session id opens at another prefix',
        )
        if (input !== handle)
          holds(pending.take(input, bound) === undefined, 'a handle that was not given takes a call')
        const text = headerText(input)
        if (text !== undefined) await ofHeader(text)
        await ofQuery(input)
      },
      close() {
        pending.close()
        registry.close()
      },
    }

    async function ofHeader(value: string): Promise<void> {
      const response = await post(app, '/one/mcp', rpc('ping'), { 'mcp-session-id': value })
      await response.text()
      const known = value === session.id
      holds(
        response.status === (known ? 200 : 404) || (value === '' && response.status === 400),
        'a header with a made-up session id is not refused',
      )
      const other = await post(app, '/two/mcp', rpc('ping'), { 'mcp-session-id': value })
      holds(other.status === 404 || other.status === 400, 'a session id opens at another prefix over HTTP')
    }
    async function ofQuery(value: string): Promise<void> {
      const { status } = await post(
        app,
        `/one/message?sessionId=${encodeURIComponent(Buffer.from(value).toString())}`,
        rpc('ping'),
      )
      holds(status === 404 || status === 400, 'a query with a made-up session id is not refused')
    }
  },
}

/** The text as a header's value can hold it: undefined when it cannot. */
function headerText(input: string): string | undefined {
  return /[^\x20-\x7e]/.test(input) ? undefined : input.trim()
}
