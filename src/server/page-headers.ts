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
