import { readSettings } from '../../checks/index.ts'
import { DEFAULT_LIMITS } from '../../config/index.ts'
import { hasErrors } from '../../findings/index.ts'
import type { JsonObject } from '../../json/index.ts'
import { isObject } from '../../json/index.ts'
import { Cancellation, type CancelSignal, Fault } from '../../mcp/index.ts'
import { createLog } from '../../telemetry/log.ts'
import { SERVER_INFO } from '../../upstream/bridge/meta.ts'
import { type Client, openClient } from '../../upstream/index.ts'
import { originOf } from '../origin.ts'
import { settingsSource } from '../settings.ts'
import { VERSION } from '../version.ts'

export interface TargetFlags {
  settings?: string
  header: Record<string, string>
}

/** An MCP server that a command talks to. */
export interface Target {
  /**
   * The result of a request; undefined once Ctrl-C has cancelled it.
   * @throws Error with what the server, or the way to it, says
   */
  ask(
    method: string,
    params?: JsonObject,
    onMessage?: (raw: JsonObject) => void,
  ): Promise<JsonObject | undefined>
  /** A result without what the bridge to a server with sessions put in. */
  asGiven(result: JsonObject): Promise<JsonObject>
  /** Aborted by Ctrl-C. */
  signal: CancelSignal
}

/**
 * Runs a command against the server at a URL, or at a prefix of the gateway that the settings describe. A URL that
 * ends in `/sse` speaks the older HTTP+SSE transport, any other streamable HTTP.
 */
export async function withTarget<T>(
  target: string,
  { settings, header }: TargetFlags,
  capabilities: JsonObject,
  run: (target: Target) => Promise<T>,
): Promise<T> {
  const url = urlOf(target, settings)
  const type = url.pathname.endsWith('/sse') ? 'sse' : 'streamable-http'
  const log = await createLog({ level: 'silent' })
  const server = {
    type,
    name: url.host,
    url: literal(url.href),
    headers: mapValues(header, literal),
  } as const
  const context = { env: {}, limits: DEFAULT_LIMITS, log, version: VERSION, capabilities, logLevel: 'info' }
  const client = openClient(server, context)
  const abort = new Cancellation()
  const interrupt = () => abort.abort()
  process.once('SIGINT', interrupt)
  try {
    return await run({ ask: asker(client, url, abort), asGiven: unbridged(client), signal: abort })
  } finally {
    process.off('SIGINT', interrupt)
    await client.close()
  }
}

function asker(client: Client, url: URL, signal: CancelSignal): Target['ask'] {
  return async (method, params = {}, onMessage) => {
    const answer = await client.request(method, params, { signal, ...(onMessage && { onMessage }) })
    if (answer === undefined || signal.aborted) return undefined
    if (answer instanceof Fault) throw new Error(`${url.href}: ${advised(answer)}`)
    const { error, result } = answer as { error?: JsonObject; result?: JsonObject }
    if (error) {
      const cure = error.code === MISSING_CAPABILITY ? '. On a terminal, elicitation can be answered' : ''
      throw new Error(`${method}: ${String(error.message)} (${String(error.code)})${cure}`)
    }
    return result ?? {}
  }
}

function unbridged(client: Client): Target['asGiven'] {
  return async (result) => {
    if ((await client.protocol()) !== 'session') return result
    const { resultType: _, _meta, ...own } = result
    const { [SERVER_INFO]: __, ...meta } = isObject(_meta) ? _meta : {}
    return { ...own, ...(Object.keys(meta).length > 0 && { _meta: meta }) }
  }
}

/** `MissingRequiredClientCapabilityError` of 2026-07-28. */
const MISSING_CAPABILITY = -32021

/** The fault, with what the user can do about it. */
function advised({ kind, status = 0, message }: Fault): string {
  if (status === 401 || status === 403)
    return `${message}. Give a credential: --header "Authorization: Bearer …"`
  if (status >= 400 && status < 500)
    return `${message}. Is this the address of its MCP endpoint? For a gateway it is {prefix}/mcp or {prefix}/sse`
  return kind === 'unreachable' ? `${message}. Is it running?` : message
}

function urlOf(target: string, settings: string | undefined): URL {
  if (/^https?:\/\//i.test(target)) {
    if (!URL.canParse(target)) throw new Error(`${target} is not a URL`)
    return new URL(target)
  }
  if (!target.startsWith('/') && target !== '')
    throw new Error(
      `${target} is neither a URL such as https://example.com/mcp nor a prefix of the gateway such as /garden`,
    )
  const read = readSettings(settingsSource(settings), process.env, {})
  if (!read.settings || hasErrors(read.findings))
    throw new Error(`the settings have errors: run \`plantgw validate\` on ${settings ?? 'them'}`)
  const path = target.replace(/(?<!\/)\/+$/, '')
  return new URL(`${originOf(read.settings)}${/\/(mcp|sse)$/.test(path) ? path : `${path}/mcp`}`)
}

/** What the shell gave is text, not a template. */
function literal(text: string): string {
  return text.replaceAll('{{', '{{"{{"}}')
}

function mapValues(map: Record<string, string>, to: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, to(value)]))
}

/** Every tool of a server, page by page. */
export async function listTools({ ask }: Target): Promise<JsonObject[]> {
  const tools: JsonObject[] = []
  const seen = new Set<unknown>()
  let cursor: unknown
  do {
    const page = await ask('tools/list', cursor === undefined ? {} : { cursor: cursor as string })
    if (!page) break
    if (Array.isArray(page.tools)) tools.push(...(page.tools as JsonObject[]))
    seen.add(cursor)
    cursor = page.nextCursor
    // A server that gives the same page for ever is listed once.
  } while (cursor !== undefined && !seen.has(cursor))
  return tools
}
