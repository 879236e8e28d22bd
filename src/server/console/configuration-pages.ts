import { randomBytes } from 'node:crypto'
import { HttpResponse } from '../../access/http-response.ts'
import { qualifiedName } from '../../config/index.ts'
import type { Finding } from '../../findings/index.ts'
import { StoreError } from '../../store/index.ts'
import { unifiedDiff } from '../../text/unified-diff.ts'
import type { Place, Saved } from '../configuration-texts.ts'
import { TableRefused } from '../workers.ts'
import { ConfigurationPage, ConfigurationsPage, DiffPage } from './configurations.tsx'
import { type ConsoleRequest, HEADERS, missing, objectIn, page, refusal } from './request.ts'

/** The answer to scripts after a change. */
interface Outcome {
  message: string
  lines?: string[]
  /** The version that was written. */
  version?: string
}

/** The served configurations, one of them, or a difference of its versions. */
export async function configurations(request: ConsoleRequest): Promise<HttpResponse> {
  const { parts, principal, query } = request
  const { texts } = parts
  const { tenant } = principal
  const status = await parts.status(principal)
  if (query.name === undefined && query.place === undefined) {
    const broken = tenant === undefined ? texts.broken() : []
    const mayReload = tenant === undefined
    return page(ConfigurationsPage({ configurations: status.configurations, broken, mayReload }))
  }
  const at = texts.find(query, tenant)
  const kept = at && (await texts.read(at).catch(storeFault))
  if (kept instanceof StoreError) return missing('configurations', kept.message)
  if (!at || !kept) return missing('configurations', `There is no configuration ${query.name ?? query.place}`)
  const { from, to } = query
  if (to !== undefined) return differenceOf(at, from, to, request)
  const { text, version, readOnly } = kept
  const found = await texts.check(at, text, tenant)
  const nonce = readOnly === undefined ? randomBytes(16).toString('base64') : undefined
  const content = ConfigurationPage({
    at,
    text,
    version,
    readOnly,
    nonce,
    findings: typeof found === 'string' ? [] : found,
    unchecked: typeof found === 'string' ? found : undefined,
    served: status.configurations.find(({ place }) => place === at.place),
    history: await texts.history(at).catch(() => undefined),
    mayRollBack: texts.readOnly === undefined,
  })
  return page(content, 200, nonce)
}

/** @throws every other error */
function storeFault(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  throw error
}

async function differenceOf(
  at: Place,
  from: string | undefined,
  to: string,
  { parts }: ConsoleRequest,
): Promise<HttpResponse> {
  const known = (await parts.texts.history(at)) ?? []
  const unknown = [from, to].find((one) => one !== undefined && known.every(({ version }) => version !== one))
  if (unknown !== undefined) return missing('configurations', `${at.place} has no version ${unknown}`)
  const before = from === undefined ? '' : await parts.texts.older(at, from)
  const after = await parts.texts.older(at, to)
  const diff = unifiedDiff(`version ${from ?? '0'}`, `version ${to}`, before, after)
  return page(DiffPage({ at, diff, from, to }))
}

/** The place and the other texts of a POST. */
async function changeOf(
  request: ConsoleRequest,
): Promise<{ at: Place; text: string; version: string } | HttpResponse> {
  const value = await objectIn(request.c)
  if (value instanceof HttpResponse) return value
  const { place, text = '', version } = value
  const at =
    typeof place === 'string' ? request.parts.texts.find({ place }, request.principal.tenant) : undefined
  if (!at) return refusal(404, 'There is no such configuration')
  if (typeof text !== 'string' || typeof version !== 'string')
    return refusal(400, 'The text and its version must be strings')
  return { at, text, version }
}

/** Maximum characters of a text that is checked while it is written, as other requests wait for the check. */
const MAX_CHECKED = 256 * 1024

/** Findings of a text that is being edited. */
export async function check(request: ConsoleRequest): Promise<HttpResponse> {
  const change = await changeOf(request)
  if (change instanceof HttpResponse) return change
  const { texts } = request.parts
  if (texts.readOnly !== undefined) return refusal(403, texts.readOnly)
  if (change.text.length > MAX_CHECKED)
    return refusal(422, `A text of more than ${MAX_CHECKED / 1024} KiB is checked only when you save it`)
  const found = await texts.check(change.at, change.text, request.principal.tenant)
  if (typeof found === 'string') return refusal(422, found)
  const shown = found.map(({ severity, range, message, hint }) => ({ severity, range, message, hint }))
  return HttpResponse.json({ findings: shown }, 200, HEADERS)
}

export function save(request: ConsoleRequest): Promise<HttpResponse> {
  return write('save', request)
}

export function rollback(request: ConsoleRequest): Promise<HttpResponse> {
  return write('rollback', request)
}

/** Writes a text, or an older version of it, and serves what was written. */
async function write(what: 'save' | 'rollback', request: ConsoleRequest): Promise<HttpResponse> {
  const change = await changeOf(request)
  if (change instanceof HttpResponse) return change
  const { parts, principal, c } = request
  const { at, text, version } = change
  const { tenant, caller } = principal
  const by = { tenant, author: `${caller ?? 'administrator'} (console)` }
  const work =
    what === 'save' ? parts.texts.save(at, text, version, by) : parts.texts.rollBack(at, version, by)
  const made: Saved = await work.catch((error: Error) => ({ refused: error.message, findings: [] }))
  if ('refused' in made) return answer(409, { message: made.refused, lines: linesOf(made.findings) })
  parts.onEdit({
    what,
    place: at.place,
    version: made.version,
    caller: caller ?? 'administrator',
    tenant: tenant ?? at.identity?.tenant,
    address: parts.addressOf(c),
  })
  const { message, lines = [] } = await reloaded(request)
  return answer(200, {
    version: made.version,
    message: `Saved as version ${made.version}. ${message}`,
    lines: [...made.warnings, ...lines],
  })
}

/** Reads all configurations again. */
export async function reload(request: ConsoleRequest): Promise<HttpResponse> {
  const value = await objectIn(request.c)
  if (value instanceof HttpResponse) return value
  if (request.principal.tenant !== undefined) return refusal(403, 'A reload concerns all tenants')
  return answer(200, await reloaded(request))
}

/** The changes and refusals of a reload, of the configurations that this administrator may see. */
async function reloaded({ parts, principal: { tenant } }: ConsoleRequest): Promise<Outcome> {
  const before = [...parts.table().prepared.values()]
  const made = await parts.reload().catch((error: Error) => error)
  if (made instanceof Error) {
    if (!(made instanceof TableRefused)) throw made
    return { message: `The current configurations stay in service: ${made.message}` }
  }
  const all = [...before, ...parts.table().prepared.values()]
  const own = all.filter((one) => tenant === undefined || one.tenant === tenant)
  const ids = new Set(own.map((one) => qualifiedName(one)))
  const files = new Set(own.map(({ file }) => file))
  const shown = (names: readonly string[]) => names.filter((id) => tenant === undefined || ids.has(id))
  const changes = (['added', 'changed', 'removed', 'refused'] as const).flatMap((key) => {
    const names = shown(made[key])
    return names.length ? [`${key}: ${names.join(', ')}`] : []
  })
  const findings = made.findings.filter(({ file }) => tenant === undefined || files.has(file))
  return {
    message: changes.length ? `Reloaded; ${changes.join('; ')}.` : 'Reloaded; nothing has changed.',
    lines: linesOf(findings.filter(({ severity }) => severity === 'error')),
  }
}

/** Maximum lines of an answer. */
const MAX_LINES = 20

/** `configs/shop.yaml:3:1: the message. The hint`. */
function linesOf(findings: readonly Finding[]): string[] {
  return findings.slice(0, MAX_LINES).map(({ file, range, message, hint }) => {
    const where = range ? `:${range.start.line}:${range.start.column}` : ''
    return `${file}${where}: ${message}${hint === undefined ? '' : `. ${hint}`}`
  })
}

function answer(status: number, outcome: Outcome): HttpResponse {
  return HttpResponse.json(outcome, status, HEADERS)
}
