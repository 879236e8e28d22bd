import { html } from 'hono/html'
import { deepLinks, entryNamer, snippetsOf, TOKEN_ENV } from '../clients/index.ts'
import { qualifiedName } from '../config/index.ts'
import { mapped, type Steps, shellWord } from '../text/index.ts'
import type { ConfigurationStatus, PrefixStatus, ReloadStatus, Status } from './status.ts'

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #ddd;vertical-align:top}
th{font-weight:600}details{margin:.3rem 0}summary{cursor:pointer}pre{background:#f3f3f3;padding:.6rem;overflow-x:auto;font-size:.85em}code{font-size:.9em;overflow-wrap:anywhere}.bad{color:#b00020}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,td{border-color:#444}.bad{color:#ff8a80}a{color:#8ab4f8}pre{background:#262626}}`

type Html = ReturnType<typeof html>

/** Prefixes with snippets for clients: each takes some thousand bytes. */
const MAX_SNIPPETS = 100

/** What is live, for people: the same as the JSON of `/_status`. */
export function* statusPage(status: Status): Steps<Html> {
  const { version, generation, swappedAt, startedAt, sessions } = status
  const configurations = yield* mapped(status.configurations, configurationRow)
  const nameOf = entryNamer()
  const detailed = new Set(status.prefixes.slice(0, MAX_SNIPPETS))
  const prefixes = yield* mapped(status.prefixes, (one) =>
    prefixRow(one, detailed.has(one) ? nameOf(one.prefix) : undefined),
  )
  const reloads = yield* mapped(status.reloads, reloadRow)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>plantgw</title><style>${STYLE}</style></head>
<body><h1>plantgw ${version}</h1>
<p>Generation ${generation} since ${swappedAt}, process since ${startedAt}, ${sessions} sessions.</p>
<h2>Configurations</h2>
<table><thead><tr><th>Name</th><th>Tenant</th><th>Version</th><th>Live since</th><th>Place</th></tr></thead><tbody>
${configurations}</tbody></table>
<h2>Prefixes</h2>
<table><thead><tr><th>Prefix</th><th>Configuration</th><th>Behind it</th><th>Sessions</th><th>Connect</th></tr></thead><tbody>
${prefixes}</tbody></table>
<h2>Last reloads</h2>
<table><thead><tr><th>At</th><th>By</th><th>Generation</th><th>Result</th></tr></thead><tbody>
${reloads.length === 0 ? html`<tr><td colspan="4">none since the start</td></tr>` : reloads}</tbody></table>
</body></html>`
}

function configurationRow({ name, tenant, version, since, place, refused }: ConfigurationStatus): Html {
  return html`<tr><td>${name}</td><td>${tenant}</td><td><code>${version}</code>${refused ? html` <span class="bad">a newer one was refused</span>` : ''}</td><td>${since}</td><td><code>${place}</code></td></tr>`
}

/** @param name of the entry in files of clients; undefined: none is shown */
function prefixRow(one: PrefixStatus, name: string | undefined): Html {
  const connect = name === undefined ? html`<code>plantgw connect</code>` : connectCell(one, name)
  return html`<tr><td><code>${one.prefix}</code></td><td>${qualifiedName({ name: one.configuration, tenant: one.tenant })}</td><td>${behind(one)}</td><td>${one.sessions}</td><td>${connect}</td></tr>`
}

/** How to add the prefix to each client. */
function connectCell({ prefix, url, access }: PrefixStatus, name: string): Html {
  const endpoint = { name, url, tokenEnv: access === 'token' ? TOKEN_ENV : undefined }
  const links = deepLinks(endpoint).map(({ label, href }) => html`<a href="${href}">${label}</a> `)
  const snippets = snippetsOf(endpoint, process.platform).map(
    ({ label, text }) => html`<details><summary>${label}</summary><pre>${text}</pre></details>`,
  )
  return html`${links}<details><summary>other clients</summary><p><code>${url}</code></p><p><code>plantgw connect claude-code ${shellWord(prefix)}</code></p>${snippets}</details>`
}

function reloadRow(reload: ReloadStatus): Html {
  const { at, triggers, generation, added, changed, removed, refused, findings } = reload
  return html`<tr><td>${at}</td><td>${triggers.join(', ')}</td><td>${generation}</td><td>${said({ added, changed, removed })}${
    refused.length ? html` <span class="bad">refused: ${refused.join(', ')}</span>` : ''
  }${findings.map(({ file, line, message }) => html`<br><code>${file}${line ? `:${line}` : ''}</code> ${message}`)}</td></tr>`
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
