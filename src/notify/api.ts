import { type Notifier, reloadTarget } from '../config/index.ts'
import { type Guard, serverMessage } from '../net/index.ts'
import { askGateway, pageText } from './ask-gateway.ts'

/** Result of a notification. */
export interface Notified {
  /** One line for people. */
  line: string
  /** The refusals of a called gateway, or its first error; others report them in their logs. */
  fault?: string
}

/** Bytes of an answer that are read. */
const LONGEST = 1024 * 1024

interface Answer {
  generation?: number
  added?: string[]
  changed?: string[]
  removed?: string[]
  refused?: string[]
  findings?: { severity?: string; file?: string; message?: string }[]
}

/**
 * Calls `POST /_reload` of a gateway.
 * @param about tells of these configurations only: what else a reload finds may be another tenant's; absent: of all
 * @param guard of the connection; absent: all are allowed
 * @throws Error where no gateway applied anything
 */
export async function callReload(
  api: NonNullable<Notifier['api']>,
  name?: string,
  about?: ReadonlySet<string>,
  guard?: Guard,
): Promise<Notified> {
  const page = reloadTarget(api)
  if (!page) throw new Error('`target_url` is neither an HTTP or HTTPS URL nor a Unix socket')
  const headers = {
    ...(api.token !== undefined && { authorization: `Bearer ${api.token}` }),
    ...(name !== undefined && { 'content-type': 'application/json' }),
  }
  const body = name !== undefined && { body: JSON.stringify({ name }) }
  const answer = await askGateway(page, { method: 'POST', headers, ...body }, LONGEST, guard)
  const [status, text] = [answer.status, answer.body.toString()]
  const at = `POST ${pageText(page)}`
  if (status === 200 || status === 422) {
    const { generation, refused = [], findings = [], ...changes } = read(text)
    if (generation === undefined)
      throw new Error(`${at} answered ${status}, but is not a gateway: check \`target_url\``)
    const mine = (names: readonly string[] = []) => names.filter((one) => about?.has(one) ?? true)
    const told = (['added', 'changed', 'removed'] as const)
      .filter((kind) => mine(changes[kind]).length)
      .map((kind) => `${kind} ${mine(changes[kind]).join(', ')}`)
    const line = `${at}: generation ${generation}, ${told.join('; ') || 'nothing changed'}`
    const errors = findings.filter(({ severity }) => severity === 'error')
    if (mine(refused).length) {
      // Findings may be of another tenant's configurations.
      const said = about ? [] : errors.map(({ file, message }) => `\n${file}: ${message}`)
      return { line, fault: `it refused ${mine(refused).join(', ')}: see its log${said.join('')}` }
    }
    // With something refused the errors may be of that, which is not ours.
    const error = refused.length ? undefined : errors[0]
    return { line, ...(error && { fault: `${error.file}: ${error.message}` }) }
  }
  const said = [serverMessage(text), CURES[status]].filter((one) => one !== undefined)
  throw new Error(`${at} answered ${status}${said.length ? `: ${said.join('; ')}` : ''}`)
}

const CURES: Record<number, string> = {
  401: 'it requires the admin token of that gateway: set `token` of `api`',
  403: 'the token is not the admin token of that gateway',
  404: 'no gateway has its own pages there (they may be at `admin.listen`), or it does not serve this configuration: check `target_url`',
  405: 'no gateway responds there: check `target_url`',
}

function read(text: string): Answer {
  try {
    return (JSON.parse(text) as Answer | null) ?? {}
  } catch {
    return {}
  }
}
