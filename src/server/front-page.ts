import type { Context } from 'hono'
import { html } from 'hono/html'
import { HttpResponse } from '../access/http-response.ts'
import type { Table } from '../build/types.ts'
import { nearest } from '../text/index.ts'
import { CONSOLE } from './console/layout.tsx'
import { type Html, plainPages } from './page.ts'

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.4rem}code{font-size:.9em;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8ab4f8}}`

const PAGES = plainPages('plantgw', STYLE, "; form-action 'none'")

/** Whether a browser asks, for its user. */
export function wantsPage(accept = ''): boolean {
  return /\btext\/html\b/.test(accept)
}

/** The body of the page at `/`. @param served addresses of endpoints; undefined: hidden */
function frontPage(served: readonly string[] | undefined): Html {
  const list = served?.length
    ? html`<ul>${served.map((path) => html`<li><code>${path}</code></li>`)}</ul>`
    : ''
  return html`<h1>plantgw</h1>
<p>This is an MCP gateway. Give an MCP client one of its endpoints: the prefix of a router followed by <code>/mcp</code>.</p>
${list}
${served ? html`<p><a href="${CONSOLE}">Console</a></p>` : ''}
`
}

const PAGE_HEADERS = { ...PAGES.headers, 'referrer-policy': 'no-referrer' }

const WHAT = 'an endpoint is the prefix of a router followed by /mcp, /sse or /message'

/**
 * Answers a path where nothing is served; `/` describes the gateway.
 * @param table shown to authorized requests only; undefined: hidden
 */
export function nothingHere({ req }: Context, table: Table | undefined): HttpResponse {
  const { path, method } = req
  const all = [...(table?.routes.values() ?? [])].map(({ prefix }) => `${prefix}/mcp`)
  const served = table && { served: all.slice(0, 100) }
  if (path === '/' && (method === 'GET' || method === 'HEAD')) {
    if (wantsPage(req.header('accept')))
      return new HttpResponse(200, PAGE_HEADERS, PAGES.text(frontPage(served?.served)))
    return HttpResponse.json({ name: 'plantgw', message: `This is an MCP gateway: ${WHAT}`, ...served })
  }
  const close = nearest(path, all)
  const meant = close === undefined ? '' : `. Did you mean ${close}?`
  const message = `Nothing is served at ${path.slice(0, 200)}: ${WHAT}${meant}`
  return HttpResponse.json({ error: 404, message, ...served }, 404)
}
