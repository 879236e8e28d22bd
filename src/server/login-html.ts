import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { html } from 'hono/html'
import { parse } from 'hono/utils/cookie'
import { HttpResponse } from '../access/http-response.ts'
import { memory } from '../access/memory.ts'
import { LoginError } from '../credentials/oauth/client.ts'
import { readBody } from '../mcp/index.ts'
import { HTML, pageHeaders } from './page-headers.ts'

/** Parts that all pages for logins of callers use. */

export const COOKIE = 'plantgw-login'
/** Maximum bytes of a form, which holds a code. */
const MAX_FORM = 1024

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;margin:3rem auto;max-width:32rem;padding:0 1rem;color:#222;background:#fff}h1{font-size:1.3rem}input,button{font:inherit;padding:.4rem .7rem}.bad{color:#b00020}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.bad{color:#ff8a80}}'
const styleHash = createHash('sha256').update(STYLE).digest('base64')
/** Browsers apply `form-action` to the redirect to the authorization server, too, so it is not set. */
export const PAGE_HEADERS = {
  ...HTML,
  ...pageHeaders(`style-src 'sha256-${styleHash}'`),
  'cache-control': 'no-store',
}

export type Html = ReturnType<typeof html>

export function page(status: number, content: Html): HttpResponse {
  const text = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>plantgw: login</title><style>${STYLE}</style></head>
<body><main><h1>Login</h1>${content}</main></body></html>`
  return new HttpResponse(status, PAGE_HEADERS, String(text))
}

export function cookieOf(header = ''): string | undefined {
  return parse(header, COOKIE)[COOKIE]
}

/**
 * The form that a page sends.
 * @param site origin of `publicUrl`
 * @param origin of the page
 * @throws LoginError
 */
export async function formOf(c: Context, site: string, origin: string | undefined): Promise<URLSearchParams> {
  // Another site could send its own code with the browser of a person who never saw the page.
  if (origin !== site) throw new LoginError('the form did not come from this page')
  const reservation = memory.reserve()
  const body = await readBody(c, MAX_FORM, reservation)
  reservation.free()
  return new URLSearchParams('text' in body ? body.text : '')
}
