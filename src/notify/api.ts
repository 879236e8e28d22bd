import { request } from 'undici'
import { type Notifier, reloadUrl } from '../config/index.ts'
import type { Notified } from './send.ts'

/** Milliseconds: a reload of many configurations takes its time. */
const TIMEOUT = 60_000
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
 * @throws Error where no gateway applied anything
 */
export async function callReload(
  api: NonNullable<Notifier['api']>,
  name?: string,
  about?: ReadonlySet<string>,
): Promise<Notified> {
  const url = reloadUrl(api)
  if (!url) throw new Error('`target_url` is no http or https URL')
  const { statusCode, text } = await post(url, api.token, name)
  const at = `POST ${url.origin}${url.pathname}`
  if (statusCode === 200 || statusCode === 422) {
    const { generation, refused = [], findings = [], ...changes } = read(text)
    if (generation === undefined)
      throw new Error(`${at} answered ${statusCode}, but not as a gateway does: check \`target_url\``)
    const mine = (names: readonly string[] = []) => names.filter((one) => about?.has(one) ?? true)
    const told = (['added', 'changed', 'removed'] as const)
      .filter((kind) => mine(changes[kind]).length)
      .map((kind) => `${kind} ${mine(changes[kind]).join(', ')}`)
    const line = `${at}: generation ${generation}, ${told.join('; ') || 'nothing changed'}`
    if (mine(refused).length)
      return { line, fault: `it refused ${mine(refused).join(', ')}: its log says why` }
    // With something refused the errors may be of that, which is not ours.
    const error = refused.length ? undefined : findings.find(({ severity }) => severity === 'error')
    return { line, ...(error && { fault: `${error.file}: ${error.message}` }) }
  }
  throw new Error(`${at} answered ${statusCode}: ${CURES[statusCode] ?? text.slice(0, 200)}`)
}

const CURES: Record<number, string> = {
  401: 'it wants the admin token of that gateway: set `token` of `api`',
  403: 'the token is not the admin token of that gateway',
  404: 'no gateway answers there, or it serves no such configuration: check `target_url`',
  405: 'no gateway answers there: check `target_url`',
}

async function post(url: URL, token: string | undefined, name: string | undefined) {
  try {
    const { statusCode, body } = await request(url, {
      method: 'POST',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(name !== undefined && { 'content-type': 'application/json' }),
      },
      body: name === undefined ? null : JSON.stringify({ name }),
      headersTimeout: TIMEOUT,
      bodyTimeout: TIMEOUT,
    })
    let text = ''
    for await (const chunk of body.setEncoding('utf8')) {
      text += chunk
      if (text.length > LONGEST) break
    }
    return { statusCode, text }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(`${url.origin} cannot be reached: ${message || code}`, { cause: error })
  }
}

function read(text: string): Answer {
  try {
    return (JSON.parse(text) as Answer | null) ?? {}
  } catch {
    return {}
  }
}
