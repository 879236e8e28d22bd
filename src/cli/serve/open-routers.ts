import type { Table } from '../../build/types.ts'
import { exposedAt, type Settings } from '../../config/index.ts'
import { printableLines } from '../../findings/frame.ts'
import type { Finding } from '../../findings/index.ts'
import type { Logger } from '../../telemetry/log.ts'

/** Maximum routers named in the message. */
const MAX_NAMED = 10

/** Why `serve` refuses to start if other machines could reach routers without authentication, with the alternatives. */
export function refusal(open: readonly Finding[]): string {
  const named = open.slice(0, MAX_NAMED).map(({ file, range, message }) => {
    const { line, column } = range?.start ?? {}
    return `  ${[file, line, column].filter((part) => part !== undefined).join(':')}: ${message}`
  })
  const rest = open.length - named.length
  const lines = [
    'plantgw: not started: other machines could call tools without saying who they are',
    ...named,
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    'Do one of these:',
    '  - add `auth` to these routers; `plantgw explain open-router` shows how',
    '  - have clients show a certificate (mTLS): `tls: {cert, key, clientCa}` in the settings',
    '  - if everyone who reaches the address may call them: `allowUnauthenticated: true` in the settings, or --allow-unauthenticated',
    '  - if only this machine calls them: `host: 127.0.0.1`, or --host 127.0.0.1',
  ]
  return `${lines.map(printableLines).join('\n')}\n`
}

/** Warns about routers opened by `allowUnauthenticated`. */
export function warnOfOpen({ routes }: Table, settings: Settings, log: Logger): void {
  const { host } = settings
  if (exposedAt({ ...settings, allowUnauthenticated: false }) === undefined) return
  const prefixes = [...routes.values()].flatMap(({ prefix, authenticate }) =>
    authenticate ? [] : prefix || '/',
  )
  if (prefixes.length)
    log.warn(
      { host, prefixes },
      'everyone who reaches this address can call these prefixes (allowUnauthenticated)',
    )
}
