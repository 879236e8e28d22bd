import { type Configuration, type McpServer, routersTo, type Tool } from '../../config/index.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { isObject } from '../../json/index.ts'
import { nearest, quote } from '../../text/index.ts'
import type { Context } from '../check.ts'

/** Maximum function name length at model providers. */
export const MAX_TOOL_NAME = 64
/** Property names accepted by model providers. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/

/** Validators treat it as a prototype, so a call can never pass it. */
const PROTOTYPE = '__proto__'

export function checkArgumentNames({ args, inputSchema }: Tool, report: Reporter) {
  for (const [j, { name }] of args.entries()) checkArgument(name, ['args', j, 'name'], report)
  const properties = isObject(inputSchema?.properties) ? inputSchema.properties : {}
  for (const name of Object.keys(properties)) checkArgument(name, ['inputSchema', 'properties', name], report)
}

export function checkToolName({ name }: Tool, report: Reporter) {
  // MCP allows it, but model APIs then refuse whole requests of clients that pass names on unchanged.
  if (/^[\w.-]+$/.test(name) && name.includes('.'))
    report({
      code: 'name-form',
      path: ['name'],
      message: `the name of the tool ${quote(name)} contains \`.\`, which most model providers refuse`,
      hint: `Write for example ${quote(name.replaceAll('.', '_'))}`,
      severity: 'info',
    })
  if (name.length > MAX_TOOL_NAME && name.length <= 128)
    report({
      code: 'name-length',
      path: ['name'],
      message: `the name of the tool ${quote(name)} has ${name.length} characters; model providers allow ${MAX_TOOL_NAME}`,
      hint: 'Shorten it; a name for people goes into `title`',
    })
}

function checkArgument(name: string, path: Path, report: Reporter) {
  if (name === PROTOTYPE)
    return report({
      code: 'argument-name',
      path,
      message: `no call can give the argument ${quote(name)}`,
      hint: 'Choose another name',
    })
  if (ARGUMENT.test(name)) return
  const odd = /[^A-Za-z0-9_.-]/u.exec(name)?.[0]
  const fault = odd
    ? `contains ${odd === ' ' ? 'a space' : quote(odd)}`
    : `is ${name ? 'longer than 64 characters' : 'empty'}`
  report({
    code: 'argument-name',
    path,
    message: `the name of the argument ${quote(name)} ${fault}, which model providers refuse`,
    hint: 'Use 1 to 64 of `A-Z a-z 0-9 _ . -`; write the API’s own name into the endpoint, a header or the body',
  })
}

export function checkUnused({ servers, tools }: Configuration, report: Reporter, { isRepaired }: Context) {
  // A server that allows no tools is already reported.
  if (servers.length === 0 || servers.some(({ allowedTools }) => !allowedTools?.length)) return
  if (servers.some((_, i) => isRepaired(['servers', i, 'allowedTools']))) return
  const allowed = new Set(servers.flatMap(({ allowedTools }) => allowedTools ?? []))
  const names = servers.map(({ name }) => quote(name)).slice(0, 3)
  // An unknown name is already reported, and probably means one of these.
  const defined = new Set(tools.map(({ name }) => name))
  const unknown = [...allowed].filter((name) => !defined.has(name))
  const meant = unknown.slice(0, 50).map((name) => nearest(name, defined))
  let excused = unknown.length - meant.filter((name) => name !== undefined).length
  for (const [i, { name }] of tools.entries())
    if (!allowed.has(name) && !meant.includes(name) && excused-- <= 0)
      report({
        code: 'unused-tool',
        path: ['tools', i, 'name'],
        message: `no server allows the tool ${quote(name)}`,
        hint: `Add it to the \`allowedTools\` of ${names.join(' or ')}, or remove it`,
      })
}

export function checkProxiedNames(
  { name: server, allowedTools, toolOverrides, blockedTools }: McpServer,
  report: Reporter,
  { configuration }: Context,
) {
  const isListed = routersTo(server, configuration).some(
    (router) => typeof router.server !== 'string' && router.names === 'prefixed',
  )
  const front = isListed ? `${server}__` : ''
  if (front.length >= MAX_TOOL_NAME)
    return report({
      code: 'name-length',
      path: ['name'],
      message: `tools of ${quote(server)} are known as \`server__tool\`; its name alone uses up the ${MAX_TOOL_NAME} characters that model providers allow`,
      hint: 'Shorten the name of the server',
    })
  const known = new Set([...(allowedTools ?? []), ...Object.keys(toolOverrides)])
  for (const own of known) {
    const renamed = toolOverrides[own]?.name
    const shown = `${front}${renamed ?? own}`
    if (shown.length <= MAX_TOOL_NAME || blockedTools.includes(own)) continue
    const at = allowedTools?.indexOf(own) ?? -1
    const ofOverride = ['toolOverrides', own, ...(renamed === undefined ? [] : ['name'])]
    report({
      code: 'name-length',
      path: renamed === undefined && at !== -1 ? ['allowedTools', at] : ofOverride,
      message: `the tool is known as ${quote(shown)}, which has ${shown.length} characters; model providers allow ${MAX_TOOL_NAME}`,
      hint: front
        ? 'Shorten the name of the server, or rename the tool with `toolOverrides`'
        : 'Rename it with `toolOverrides`',
    })
  }
}
