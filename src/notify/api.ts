import { type Notifier, reloadTarget } from '../config/index.ts'
import { fetchOnce, type Guard, type HttpAnswer, netFault, serverMessage } from '../net/index.ts'
import { type Notified, type ReloadAnswer, reloadText } from './reload-answer.ts'

/**
 * Calls `POST /_reload` of a gateway.
 * @param about names of the configurations to report on; absent: all. Others may belong to another tenant
 * @param guard checks the address; absent: every address is allowed
 * @throws Error when the answer is not the report of a reload
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
      throw new Error(`${at} answered ${status}, but not as a gateway does: check \`target_url\``)
    return reloadText(at, result, about)
  }
  const said = [serverMessage(text), CURES[status]].filter((one) => one !== undefined)
  throw new Error(`${at} answered ${status}${said.length ? `: ${said.join('; ')}` : ''}`)
}

const CURES: Record<number, string> = {
  401: 'the gateway requires its admin token: set `token` of `api`',
  403: 'the token is not the admin token of that gateway',
  404: 'no gateway has its own pages there (they may be at `admin.listen`), or it does not serve this configuration: check `target_url`',
  405: 'the server there is no gateway: check `target_url`',
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

/** Why a connection to a Unix socket fails. */
const SOCKET_FAULTS: Record<string, string> = {
  ENOENT: 'the socket does not exist',
  ECONNREFUSED: 'no process listens there',
  EACCES: 'the socket belongs to another user: run the command as the user of the gateway',
}

/**
 * Requests a gateway's own page.
 * @param maxSize of the answer in bytes
 * @param guard checks the address; absent: every address is allowed
 * @throws Error that names the page and the fault
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
  // A minute, because many configurations take long to reload.
  return fetchOnce(sent, { timeout: 60_000, maxSize, guard }, connection).catch((error) => {
    throw adminFault(error, { url, socket })
  })
}

/** An error with the reason why a gateway's own page cannot be reached. */
export function adminFault(error: unknown, { url, socket }: AdminUrl): Error {
  const fault = netFault(error, url.origin)
  const why = socket === undefined ? undefined : SOCKET_FAULTS[fault.code]
  return why === undefined ? fault : new Error(`unix:${socket}: ${why}`)
}

/** Name of the page in messages, without its query. */
export function pageText({ url, socket }: AdminUrl): string {
  return socket === undefined ? url.origin + url.pathname : `unix:${socket} ${url.pathname}`
}
