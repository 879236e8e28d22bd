import type { Notifier } from './model.ts'

export interface Address {
  host: string
  port: number
}

/** Splits `host:port,host:port` (or by `;`); IPv6 addresses stand in brackets. Undefined: it is none. */
export function parseAddresses(text: string): Address[] | undefined {
  const found: Address[] = []
  for (const part of text.split(/[,;]/)) {
    const [, bracketed, name, digits] =
      /^\s*(?:\[([\da-fA-F:.]+)\]|([^\s:[\]/@]+)):(\d{1,5})\s*$/.exec(part) ?? []
    const host = bracketed ?? name
    const port = Number(digits)
    if (!host || !(port > 0 && port <= 65535)) return undefined
    found.push({ host, port })
  }
  return found
}

/** The URL of a reload call: `port` counts where `target_url` names none. Undefined: it is none. */
export function reloadUrl({ target_url, port }: NonNullable<Notifier['api']>): URL | undefined {
  if (!/^https?:\/\//i.test(target_url) || !URL.canParse(target_url)) return undefined
  const url = new URL(target_url)
  // A port that is the scheme's own is gone from `URL`, and counts nevertheless.
  if (port !== undefined && !/^https?:\/\/[^/?#]*:\d+(?:[/?#]|$)/i.test(target_url)) url.port = String(port)
  return url
}
