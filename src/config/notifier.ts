import { dirname, resolve } from 'node:path'
import type { Notifier } from './model.ts'

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
type Checked = Record<string, any>

/** A `notifier` with its defaults. */
export function buildNotifier({ type, signal, api, redis }: Checked): Notifier {
  return {
    type,
    ...(signal && { signal: { signal: signal.signal ?? 'SIGHUP', pid: signal.pid } }),
    ...(api && { api }),
    ...(redis && {
      redis: {
        ...redis,
        cluster_type: redis.cluster_type ?? 'single',
        master_name: redis.master_name ?? 'mymaster',
        tls: redis.tls ?? false,
      },
    }),
  }
}

/** That of the settings: its pid file is relative to the settings file. */
export function buildSettingsNotifier(given: Checked, settingsFile: string): Notifier {
  const notifier = buildNotifier(given)
  const { signal } = notifier
  const folder = settingsFile === '-' ? '.' : dirname(settingsFile)
  return signal ? { ...notifier, signal: { ...signal, pid: resolve(folder, signal.pid) } } : notifier
}

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
