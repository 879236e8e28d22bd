import { type Notifier, reloadTarget } from '../config/index.ts'
import { fetchOnce, type Guard, type HttpAnswer, netFault, serverMessage } from '../net/index.ts'
import { type Notified, type ReloadAnswer, reloadText } from './reload-answer.ts'

/**
 * Calls `POST /_reload` of a gateway.
 * @param about the configurations to report on, as others may be another tenant's; absent: all
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
  const answer = await askGateway(page, { method: 'POST', headers, ...body }, 1024 * 1024, guard)
  const [status, text] = [answer.status, answer.body.toString()]
  const at = `POST ${pageText(page)}`
  if (status === 200 || status === 422) {
    const result = read(text)
    if (result.generation === undefined)
      throw new Error(`${at} answered ${status}, but is not a gateway: check \`target_url\``)
    return reloadText(at, result, about)
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

function read(text: string): ReloadAnswer {
  try {
    return (JSON.parse(text) as ReloadAnswer | null) ?? {}
  } catch {
    return {}
  }
}

/** A page of the gateway itself: at its URL, or behind the Unix socket of `admin.listen`. */
export interface AdminUrl {
  url: URL
  socket?: string | undefined
}

/** Why a Unix socket cannot be connected to. */
const SOCKET_FAULTS: Record<string, string> = {
  ENOENT: 'there is no such socket',
  ECONNREFUSED: 'no process listens there',
  EACCES: 'it belongs to another user: run the command as the user of the gateway',
}

/**
 * Asks a gateway for one of its own pages.
 * @param guard of the connection; absent: all are allowed
 * @throws Error that names the page and says why there is no answer
 */
export async function askGateway(
  { url, socket }: AdminUrl,
  request: { method: string; headers: Record<string, string>; body?: string },
  maxSize: number,
  guard?: Guard,
): Promise<HttpAnswer> {
  const denied = socket === undefined ? undefined : guard?.judgeLocal('', 0)
  if (denied) throw guard!.refuse(denied, '', `unix:${socket}`)
  const { origin, pathname, search } = url
  const connection = socket === undefined ? {} : { socketPath: socket }
  const sent = { ...request, origin, path: pathname + search }
  // Milliseconds: a reload of many configurations takes its time.
  return fetchOnce(sent, { timeout: 60_000, maxSize, guard }, connection).catch((error) => {
    throw adminFault(error, { url, socket })
  })
}

/** Says why a gateway's own pages cannot be reached. */
export function adminFault(error: unknown, { url, socket }: AdminUrl): Error {
  const fault = netFault(error, url.origin)
  const why = socket === undefined ? undefined : SOCKET_FAULTS[fault.code]
  return why === undefined ? fault : new Error(`unix:${socket}: ${why}`)
}

/** Names the page to people, without a query. */
export function pageText({ url, socket }: AdminUrl): string {
  return socket === undefined ? url.origin + url.pathname : `unix:${socket} ${url.pathname}`
}
