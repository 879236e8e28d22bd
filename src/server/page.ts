import { createHash } from 'node:crypto'
import { html } from 'hono/html'

export type Html = ReturnType<typeof html>

/** Makes pages with one style and without scripts, and their headers. @param sources as for `pageHeaders` */
export function plainPages(title: string, style: string, sources = '') {
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    headers: { ...HTML, ...pageHeaders(`style-src 'sha256-${hash}'${sources}`) },
    text: (body: Html) =>
      String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${style}</style></head>
<body>${body}</body></html>`),
  }
}

/**
 * Headers of the gateway's pages, which no other site may frame.
 * @param sources what they may load and do beside nothing, as directives of Content-Security-Policy
 */
export function pageHeaders(sources: string) {
  return {
    'content-security-policy': `default-src 'none'; ${sources}; base-uri 'none'; frame-ancestors 'none'`,
    // With `no-referrer`, browsers would not say where a form comes from.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

/** Media type of a page. */
export const HTML = { 'content-type': 'text/html; charset=UTF-8' }
