import { createHash } from 'node:crypto'
import { html } from 'hono/html'
import { CLIENT_NAMES, TOKEN_ENV } from '../clients/index.ts'
import { qualifiedName } from '../config/index.ts'
import { mapped, type Steps, shellWord } from '../text/index.ts'
import type { ConfigurationStatus, PrefixStatus, ReloadStatus, Status } from './status.ts'

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #ddd;vertical-align:top}
th{font-weight:600}code{font-size:.9em;overflow-wrap:anywhere}.bad{color:#b00020}
@media(max-width:50rem){thead{display:none}table,tbody,tr,td{display:block}td{border:0;padding:.1rem 0;overflow-wrap:anywhere}td::before{content:attr(data-of);font-weight:600;margin-right:.6rem}tr{border-bottom:1px solid #ddd;padding:.5rem 0}}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}tr,th,td{border-color:#444}.bad{color:#ff8a80}}`

type Html = ReturnType<typeof html>

const styleHash = createHash('sha256').update(STYLE).digest('base64')

/** The page needs only its own style, and must not be framed. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=UTF-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** The status as a page: the same data as the JSON of `/_status`. */
export function* statusPage(status: Status): Steps<Html> {
  const { version, generation, swappedAt, startedAt, sessions } = status
  const configurations = yield* mapped(status.configurations, configurationRow)
  const prefixes = yield* mapped(status.prefixes, prefixRow)
  const reloads = yield* mapped(status.reloads, reloadRow)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>plantgw</title><style>${STYLE}</style></head>
<body><h1>plantgw ${version}</h1>
<p>Generation ${generation} since ${swappedAt}, process since ${startedAt}, ${sessions} sessions.</p>
<h2>Configurations</h2>
${tableOf(CONFIGURATIONS, configurations)}
<h2>Prefixes</h2>
<p><code>plantgw connect</code> knows these clients: ${CLIENT_NAMES.join(', ')}.</p>
${tableOf(PREFIXES, prefixes)}
<h2>Last reloads</h2>
${reloads.length === 0 ? html`<p>none since the start</p>` : tableOf(RELOADS, reloads)}
</body></html>`
}

const CONFIGURATIONS = ['Name', 'Tenant', 'Version', 'Live since', 'Place']
const PREFIXES = ['Prefix', 'Configuration', 'Behind it', 'Sessions', 'Connect']
const RELOADS = ['At', 'By', 'Generation', 'Result']

function tableOf(heads: readonly string[], rows: readonly Html[]): Html {
  const names = heads.map((head) => html`<th>${head}</th>`)
  return html`<table><thead><tr>${names}</tr></thead><tbody>
${rows}</tbody></table>`
}

/** On narrow screens each cell shows the name of its column. */
function rowOf(heads: readonly string[], cells: readonly (Html | string | number)[]): Html {
  return html`<tr>${cells.map((cell, i) => html`<td data-of="${heads[i]}">${cell}</td>`)}</tr>`
}

function configurationRow({ name, tenant, version, since, place, refused }: ConfigurationStatus): Html {
  const note = refused ? html` <span class="bad">a newer one was refused</span>` : ''
  const cells = [name, tenant, html`<code>${version}</code>${note}`, since, html`<code>${place}</code>`]
  return rowOf(CONFIGURATIONS, cells)
}

function prefixRow(one: PrefixStatus): Html {
  const configuration = qualifiedName({ name: one.configuration, tenant: one.tenant })
  return rowOf(PREFIXES, [
    html`<code>${one.prefix}</code>`,
    configuration,
    behind(one),
    one.sessions,
    connectCell(one),
  ])
}

/** The URL for clients, and the command that adds it to one. */
function connectCell({ prefix, url, access }: PrefixStatus): Html {
  const base = url.slice(0, -`${prefix === '/' ? '' : prefix}/mcp`.length)
  const token = access === 'token' ? ` --token-env ${TOKEN_ENV}` : ''
  const command = `plantgw connect claude-code ${shellWord(prefix)} --url ${shellWord(base)}${token}`
  return html`<code>${url}</code><br><code>${command}</code>`
}

function reloadRow(reload: ReloadStatus): Html {
  const { at, triggers, generation, added, changed, removed, refused, findings } = reload
  const bad = refused.length ? html` <span class="bad">refused: ${refused.join(', ')}</span>` : ''
  const places = findings.map(
    ({ file, line, message }) => html`<br><code>${file}${line ? `:${line}` : ''}</code> ${message}`,
  )
  const result = html`${said({ added, changed, removed })}${bad}${places}`
  return rowOf(RELOADS, [at, triggers.join(', '), generation, result])
}

function behind({ tools = [], upstream }: PrefixStatus) {
  if (!upstream) return tools.join(', ') || 'no tools'
  const { servers, state, connections, faults = [] } = upstream
  const text = `${servers.join(', ')}: ${state}, ${connections} connections`
  return faults.length ? html`<span class="bad">${text}. ${faults.join('. ')}</span>` : text
}

function said(changes: Record<string, readonly string[]>): string {
  const parts = Object.entries(changes).flatMap(([word, names]) =>
    names.length ? [`${word}: ${names.join(', ')}`] : [],
  )
  return parts.join('; ') || 'nothing changed'
}
