import { existsSync } from 'node:fs'
import { Command, Option } from 'commander'
import { readSettings } from '../../checks/index.ts'
import { originOf } from '../../config/index.ts'
import { hasErrors } from '../../findings/index.ts'
import { TOKEN_ENV } from '../../import/clients/index.ts'
import type { JsonObject } from '../../json/index.ts'
import { listPages } from '../../mcp/list-pages.ts'
import { isHere } from '../../net/index.ts'
import { withoutEndSlashes } from '../../text/index.ts'
import type { LoginFlags } from '../login/login.ts'
import { addHeader, formatOption, untilInterrupted, wholeNumber } from '../options.ts'
import { settingsOption, settingsSource } from '../settings.ts'
import type { ClientOptions, McpClient } from './client.ts'

export interface TargetFlags extends LoginFlags {
  settings?: string
  header: Record<string, string>
  token?: string
  format: 'text' | 'json'
}

/** A command for the server at a URL or a prefix of the gateway. */
export function targetCommand(name: string, description: string): Command {
  const command = new Command(name)
    .description(`${description} of an MCP server, given as a prefix of the gateway or any URL.`)
    .argument('<url|prefix>', 'for example /garden or https://example.com/mcp')
    .addOption(settingsOption("settings file that gives the gateway's host and port"))
  return accessOptions(command)
}

/** Options for connecting and logging in to a server. */
export function accessOptions(command: Command): Command {
  return command
    .option('--header <name:value>', 'header to send; may be repeated', addHeader, {})
    .option(
      '--token <token>',
      'bearer token to send, in place of a login (default: $PLANTGW_TOKEN, for the gateway only)',
    )
    .option('--client-id <id>', 'client id known to the authorization server (default: register one)')
    .addOption(new Option('--client-secret <secret>', 'secret of that client').env('PLANTGW_CLIENT_SECRET'))
    .option('--client-credentials', 'log in as that client itself, without a person')
    .option(
      '--issuer <url>',
      'authorization server that may log the user in (default: the one that the server names)',
    )
    .option('--redirect-port <port>', 'local port for the OAuth redirect', wholeNumber(1, 65_535))
    .option('--no-browser', 'print the address of the login only')
    .addOption(formatOption())
}

/**
 * Runs a command against a URL, or a prefix of the gateway in the settings.
 * @throws Error also after Ctrl-C
 */
export async function withTarget<T>(
  target: string,
  flags: TargetFlags,
  options: Omit<ClientOptions, 'headers' | 'signal' | 'login'>,
  run: (client: McpClient) => Promise<T>,
): Promise<T> {
  const url = urlOf(target, flags.settings)
  const token = flags.token ?? tokenOfEnvironment(target, url, flags)
  const headers = { ...flags.header, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  return untilInterrupted(async (signal) => {
    const { connect } = await import('./client.ts')
    const { Login } = await import('../login/login.ts')
    const login = headers.authorization === undefined && { login: await Login.of(url, flags) }
    // Other servers may not know the parameter.
    const wholeList = options.wholeList && target.startsWith('/')
    const client = await connect(url, { ...options, wholeList, headers, signal, ...login })
    try {
      return await run(client)
    } finally {
      await client.close()
    }
  })
}

/**
 * `PLANTGW_TOKEN`, unless the command line names another way to log in. It is the gateway's token, so other hosts than
 * this machine and the `publicUrl` of the settings do not get it.
 */
function tokenOfEnvironment(target: string, url: URL, flags: TargetFlags): string | undefined {
  const { header, clientId, clientCredentials } = flags
  const token = process.env[TOKEN_ENV]
  if (!token || header.authorization !== undefined || clientId !== undefined || clientCredentials)
    return undefined
  if (target.startsWith('/') || isHere(url) || url.origin === publicOrigin(flags.settings)) return token
  console.error(
    `plantgw: ${TOKEN_ENV} is not sent to ${url.host}, which is neither this machine nor the publicUrl of the settings; --token sends a token there`,
  )
  return undefined
}

function publicOrigin(settings: string | undefined): string | undefined {
  const { publicUrl } = readSettings(settingsSource(settings), process.env, {}).settings ?? {}
  return publicUrl === undefined ? undefined : new URL(publicUrl).origin
}

/** `127.0.0.1:5235/shop/mcp`, `localhost/mcp`, `tools.example.com/mcp`. */
export const HOST_AND_PORT =
  /^(?:localhost|\[[\da-f:]+\]|[a-z\d-]+(?:\.[a-z\d-]+)+|[a-z\d-]+(?=:\d))(?::\d+)?(?:\/|$)/i

/**
 * The URL of a server, given as URL or as prefix of the gateway in the settings.
 * @throws Error for anything else
 */
export function urlOf(target: string, settings: string | undefined): URL {
  if (/^https?:\/\//i.test(target)) {
    if (!URL.canParse(target)) throw new Error(`${target} is not a URL`)
    return new URL(target)
  }
  if (HOST_AND_PORT.test(target)) throw new Error(`${target} is not a URL: did you mean http://${target}?`)
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(target))
    throw new Error(`${target}: servers are called over http and https only`)
  if (existsSync(target) && !target.startsWith('/'))
    throw new Error(
      `${target} is a file: serve it first, and give the prefix that it has, such as /plants; \`plantgw render\` shows requests of a file`,
    )
  if (!target.startsWith('/') && target !== '')
    throw new Error(
      `${target} is not a URL such as https://example.com/mcp, and a prefix begins with a slash: did you mean /${target}?`,
    )
  const read = readSettings(settingsSource(settings), process.env, {})
  if (!read.settings || hasErrors(read.findings))
    throw new Error(`the settings have errors: run \`plantgw validate\` on ${settings ?? 'them'}`)
  const path = withoutEndSlashes(target)
  return new URL(`${originOf(read.settings)}${/\/(mcp|sse)$/.test(path) ? path : `${path}/mcp`}`)
}

/** Every tool of a server, page by page. */
export async function listTools(client: McpClient): Promise<JsonObject[]> {
  const tools: JsonObject[] = []
  const ask = async (page: JsonObject) => ({ result: await client.request('tools/list', page) })
  for await (const { result } of listPages(ask))
    if (Array.isArray(result.tools)) tools.push(...(result.tools as JsonObject[]))
  return tools
}
