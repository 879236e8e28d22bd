import type { Script } from '../support/scripted.ts'
import { MODERN_META, modernHeaders } from '../support/served.ts'
import { readCorpus } from './corpus.ts'
import { mutate } from './mutate.ts'
import type { Random } from './random.ts'
import { rpc } from './targets/rpc.ts'

/** A hostile request for a running gateway, with what the upstream says to it where it calls `say`. */
export interface Hostile {
  prefix: string
  path: string
  body: string
  headers: Record<string, string>
  /** Whether it goes into a session of this revision. */
  revision?: string
  script?: Script
}

const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const METHODS = [
  ...[
    'initialize',
    'ping',
    'tools/list',
    'tools/call',
    'prompts/list',
    'prompts/get',
    'resources/list',
    'resources/read',
  ],
  ...[
    'resources/templates/list',
    'resources/subscribe',
    'completion/complete',
    'logging/setLevel',
    'server/discover',
  ],
  ...[
    'subscriptions/listen',
    'tasks/get',
    'tasks/cancel',
    'notifications/cancelled',
    'notifications/initialized',
  ],
  ...['notifications/progress', 'notifications/roots/list_changed', 'x/y', '__proto__', ''],
] as const
const NESTED = [1, 5, 100, 129, 1005, 10_000, 30_000] as const
const LONG = [0, 10, 300, 5000, 100_000] as const

/** JSON of a hostile value. */
function value(random: Random): string {
  const nested = random.pick(NESTED)
  const long = random.pick(LONG)
  switch (random.below(12)) {
    case 0:
      return '['.repeat(nested) + ']'.repeat(nested)
    case 1:
      return `${'{"a":'.repeat(nested)}12345678901234567890${'}'.repeat(nested)}`
    case 2:
      return `${'['.repeat(nested)}0.12345678901234567890${']'.repeat(nested)}`
    case 3:
      return '7'.repeat(long + 1)
    case 4:
      return JSON.stringify(random.pick(['a', '\0', '\u2028', '%2e', ' ', '"', '\ud800']).repeat(long))
    case 5:
      return `{${Array.from({ length: Math.min(long, 2000) }, (_, i) => `"k${i}":${i}`).join()}}`
    case 6:
      return `[${Array(Math.min(long, 5000))
        .fill(random.pick(['0', '{}', '[]', 'null', '""']))
        .join()}]`
    case 7:
      return random.pick(['null', 'true', '-0', '1e999', '9007199254740993', '1.5', '""', '{}', '[]'])
    default:
      return random.pick('"echo" "say" 1 "a" "2025-11-25" "2026-07-28" {"a":1} {"key":"script"}'.split(' '))
  }
}

function params(random: Random): string {
  const names = (
    'name arguments uri _meta cursor level ref argument requestId progressToken protocolVersion ' +
    'capabilities clientInfo requestState inputResponses notifications taskId Name __proto__'
  ).split(' ')
  const members = Array.from({ length: random.below(5) }, () => `"${random.pick(names)}":${value(random)}`)
  return `{${members.join()}}`
}

function message(random: Random): string {
  const members = ['"jsonrpc":"2.0"']
  if (!random.once(5)) members.push(`"id":${random.once(4) ? value(random) : random.below(100)}`)
  if (!random.once(8))
    members.push(`"method":${random.once(20) ? value(random) : JSON.stringify(random.pick(METHODS))}`)
  if (!random.once(5)) members.push(`"params":${random.once(10) ? value(random) : params(random)}`)
  if (random.once(8)) members.push(`"result":${value(random)}`)
  if (random.once(12)) members.push(`"error":${value(random)}`)
  return `{${members.join()}}`
}

/** A line that a server may write: about its call, or about nothing. */
function line(random: Random, id: string): string {
  const own = `"jsonrpc":"2.0","id":${id}`
  switch (random.below(9)) {
    case 0:
      return `{${own},"result":${value(random)}}`
    case 1:
      return `{${own},"error":{"code":1,"message":"x","data":${value(random)}}}`
    case 2:
      return `{"jsonrpc":"2.0","method":"notifications/${random.pick(['message', 'progress', 'x', 'tools/list_changed'])}","params":${params(random)}}`
    case 3:
      return `{"jsonrpc":"2.0","id":"q","method":"${random.pick(['sampling/createMessage', 'elicitation/create', 'roots/list', 'ping', 'x'])}","params":${params(random)}}`
    case 4:
      return `[${message(random)},${message(random)}]`
    case 5:
      return `{${own},"result":{"resultType":${value(random)},"content":${value(random)},"requestState":${value(random)}}}`
    case 6:
      return value(random)
    default:
      return mutate(
        random,
        `{${own},"result":{"content":[{"type":"text","text":"x"}]}}`,
        message(random),
        rpc.tokens,
        50_000,
      ).replaceAll('\n', ' ')
  }
}

/** A generator of hostile requests to these prefixes; `say` is the name of the tool that plays scripts there. */
export function hostileMessages(
  random: Random,
  prefixes: readonly string[],
  sayOf: (prefix: string) => string,
): () => Hostile {
  const corpus = readCorpus('rpc')
  return () => {
    const prefix = random.pick(prefixes)
    const path = random.once(12) ? `${prefix}/message?sessionId=x` : `${prefix}/mcp`
    const modern = random.once(3)
    const method = random.pick(METHODS)
    const base = { prefix, path, ...(!modern && { revision: random.pick(REVISIONS) }) }
    if (random.once(2)) {
      const say = sayOf(prefix)
      const meta = modern ? `,${MODERN_META}` : ',"_meta":{"progressToken":1}'
      const body = `{"jsonrpc":"2.0","id":${random.below(100)},"method":"tools/call","params":{"name":"${say}","arguments":{"key":"script"}${meta}}}`
      const lines = random.below(4)
      const script: Script = (id) => [
        ...Array.from({ length: lines }, () => line(random, id)),
        `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[]}}`,
      ]
      return {
        ...base,
        path: `${prefix}/mcp`,
        body,
        headers: modern ? modernHeaders('tools/call', say) : {},
        script,
      }
    }
    const made = random.once(2)
      ? message(random)
      : mutate(random, random.pick(corpus), message(random), rpc.tokens, 100_000)
    const batched = random.once(8) ? `[${made},${message(random)}]` : made
    const body = modern
      ? batched.replace('"params":{', `"params":{${MODERN_META}${random.once(3) ? '' : ','}`)
      : batched
    return {
      ...base,
      body,
      headers: modern ? modernHeaders(random.once(3) ? method : 'tools/call', 'echo') : {},
    }
  }
}
