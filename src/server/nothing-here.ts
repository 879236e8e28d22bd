import type { Context } from 'hono'
import { HttpResponse } from '../access/http-response.ts'
import type { Table } from '../build/types.ts'
import { nearest } from '../text/index.ts'
import { frontPage, PAGE_HEADERS, wantsPage } from './front-page.ts'

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
      return new HttpResponse(200, PAGE_HEADERS, String(frontPage(served?.served)))
    return HttpResponse.json({ name: 'plantgw', message: `This is an MCP gateway: ${WHAT}`, ...served })
  }
  const close = nearest(path, all)
  const meant = close === undefined ? '' : `. Did you mean ${close}?`
  const message = `Nothing is served at ${path.slice(0, 200)}: ${WHAT}${meant}`
  return HttpResponse.json({ error: 404, message, ...served }, 404)
}
