import { isUtf8 } from 'node:buffer'
import { printableLines } from '../text/index.ts'
import type { Mask } from './mask.ts'
import type { UpstreamRequest } from './types.ts'

/** A request in HTTP/1.1 syntax, with the whole URL in the first line. */
export function requestText(request: UpstreamRequest, mask: Mask): string {
  const { method, url, headers, body } = shownRequest(request, mask)
  const lines = [`${method} ${url}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
  return printableLines(`${lines.join('\n')}\n${body === undefined ? '' : `\n${body}\n`}`)
}

/** Its parts with secrets masked; `body` is absent if empty. */
export function shownRequest({ method, origin, path, headers, body }: UpstreamRequest, mask: Mask) {
  const pairs: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) {
    // Headers hold UTF-8 bytes, one character for each.
    const value = Buffer.from(headers[i + 1]!, 'latin1').toString('utf8')
    pairs.push([headers[i]!, mask(value)])
  }
  return {
    method,
    url: mask(origin + path),
    headers: pairs,
    ...(body !== undefined && { body: mask(bodyText(body)) }),
  }
}

/** The text of a body, its NULs escaped; of binary data, its size. */
export function bodyText(body: string | Buffer): string {
  if (typeof body === 'string') return body
  if (isUtf8(body)) return body.toString('utf8').replaceAll('\0', '\\u0000')
  return `(${body.length} bytes of binary data)`
}
