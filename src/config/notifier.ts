import { dirname, resolve } from 'node:path'
import { quote } from '../text/index.ts'
import type { Notifier } from './model.ts'
import type { Report } from './report.ts'
import type { Path } from './types.ts'

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

/** What one field of a `notifier` says about another. */
export function checkNotifier(notifier: Notifier, path: Path, report: Report): void {
  const { type, api, redis } = notifier
  for (const idle of ['signal', 'api', 'redis'] as const)
    if (idle !== type && notifier[idle])
      report(
        'key-without-effect',
        [...path, idle],
        `\`${idle}\` does nothing for a notifier of type \`${type}\``,
        'Remove it, or change `type`',
      )
  if (type === 'api' && api && !reloadUrl(api))
    report(
      'invalid-value',
      [...path, 'api', 'target_url'],
      // It may hold a password.
      '`target_url` is no http or https URL',
      'Write for example `http://localhost:5235/_reload`',
    )
  if (type !== 'redis' || !redis) return
  const at = [...path, 'redis', 'addr']
  const addresses = parseAddresses(redis.addr)
  if (!addresses)
    report(
      'invalid-value',
      at,
      `${quote(redis.addr)} is no \`host:port\``,
      'Write for example `localhost:6379`',
    )
  else if (redis.cluster_type === 'single' && addresses.length > 1)
    report('invalid-value', at, 'one server has one address', 'Name one, or change `cluster_type`')
}
