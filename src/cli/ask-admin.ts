import { type Settings, socketPath } from '../config/index.ts'
import { serverMessage } from '../net/index.ts'
import { type AdminUrl, askGateway, pageText } from '../notify/api.ts'

/**
 * Requests an admin route of the running gateway as JSON.
 * @param base URL of the admin routes, or `unix:PATH`
 * @throws Error with the URL and the reason
 */
export async function askAdmin<Answer extends { configurations: unknown }>(
  base: string,
  path: '/_diff' | '/_status',
  { admin }: Pick<Settings, 'admin'>,
): Promise<Answer> {
  const page = adminPage(base, path)
  const headers: Record<string, string> = admin?.token ? { authorization: `Bearer ${admin.token}` } : {}
  const answer = await askGateway(page, { method: 'GET', headers }, 64 * 1024 * 1024).catch(
    ({ message }: Error) => {
      throw new Error(`${message}. Is the gateway running?`)
    },
  )
  const url = pageText(page)
  const text = answer.body.toString('utf8')
  const said = serverMessage(text)
  const first = said === undefined || answer.status === 200 ? '' : `${said} (status ${answer.status}). `
  if (answer.status === 401)
    throw new Error(`${first}${url} requires the admin token: give the gateway's settings with --settings`)
  try {
    const value = JSON.parse(text) as Answer
    if (answer.status === 200 && Array.isArray(value.configurations)) return value
  } catch {
    // Reported below.
  }
  throw new Error(
    `${first}${url} answered with the status ${answer.status}, and has no pages of a gateway: check --url, and \`admin.listen\` of its settings`,
  )
}

/** An admin page. @param base URL of the admin routes, or `unix:PATH` @throws Error */
export function adminPage(base: string, path: string): AdminUrl {
  const socket = socketPath(base)
  if (socket) return { url: new URL(`http://localhost${path}`), socket }
  if (!URL.canParse(base) || !/^https?:/i.test(base)) throw new Error(`${base} is not an HTTP or HTTPS URL`)
  return { url: new URL(path, base) }
}
