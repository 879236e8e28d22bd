import { fetchOnce, type Guard, type HttpAnswer, NetFault } from '../net/index.ts'

/** One of the gateway's own pages, where its URL says or behind the Unix socket of `admin.listen`. */
export interface AdminUrl {
  url: URL
  socket?: string
}

/** Why a Unix socket cannot be connected to. */
const SOCKET_FAULTS: Record<string, string> = {
  ENOENT: 'there is no such socket',
  ECONNREFUSED: 'no process listens there',
  EACCES: 'it belongs to another user: run the command as the user of the gateway',
}

/** Milliseconds: a reload of many configurations takes its time. */
const TIMEOUT = 60_000

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
  return fetchOnce(sent, { timeout: TIMEOUT, maxSize, guard }, connection).catch((fault) => {
    const why = fault instanceof NetFault ? SOCKET_FAULTS[fault.code ?? ''] : undefined
    throw socket === undefined || why === undefined ? fault : new Error(`unix:${socket}: ${why}`)
  })
}

/** Names the page to people, without a query. */
export function pageText({ url, socket }: AdminUrl): string {
  return socket === undefined ? url.origin + url.pathname : `unix:${socket} ${url.pathname}`
}
