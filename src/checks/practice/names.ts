import { basename } from 'node:path'
import { type Configuration, type ReadConfiguration, serverNames } from '../../config/index.ts'
import { isObject } from '../../json/index.ts'
import { nearest, quote } from '../../text/index.ts'
import type { Advise } from './report.ts'

/** What model providers take for the name of a function. */
const MAX_TOOL_NAME = 64
/** What they take for the name of a property. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/

/** So many names are compared with those of all tools. */
const MAX_MEANT = 50

/** `shop.yaml`, `shop.prod.yaml` and `01-my_shop.yml` are files of `shop`. */
export function checkFileName(file: string, { name }: Configuration, advise: Advise) {
  // A file that a store or standard input gives has no name of its own.
  if (!/\.ya?ml$/i.test(file)) return
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  const [own, other] = [plain(basename(file).replace(/\.ya?ml$/i, '')), plain(name)]
  if (own === '' || other === '' || own.includes(other) || other.includes(own)) return
  const message = `the file of the configuration ${quote(name)} is named ${quote(basename(file))}`
  advise('file-name', ['name'], message, `Rename it to \`${name}.yaml\`, or the configuration`)
}

export function checkNames(
  configuration: Configuration,
  advise: Advise,
  doubtful: ReadConfiguration['doubtful'],
) {
  checkUnused(configuration, advise, doubtful)
  checkLengths(configuration, advise)
  for (const [i, { args, inputSchema }] of configuration.tools.entries()) {
    for (const [j, { name }] of args.entries())
      checkArgument(name, (message, hint) =>
        advise('argument-name', ['tools', i, 'args', j, 'name'], message, hint),
      )
    const properties = isObject(inputSchema?.properties) ? Object.keys(inputSchema.properties) : []
    for (const name of properties)
      checkArgument(name, (message, hint) =>
        advise('argument-name', ['tools', i, 'inputSchema', 'properties', name], message, hint),
      )
  }
}

function checkArgument(name: string, report: (message: string, hint: string) => void) {
  // JSON Schema validators take it for a prototype, so a call can never give it.
  if (name === '__proto__')
    return report(`the argument ${quote(name)} can be given by no call`, 'Choose another name')
  if (ARGUMENT.test(name)) return
  const odd = /[^A-Za-z0-9_.-]/u.exec(name)?.[0]
  const fault =
    odd === undefined ? 'is longer than 64 characters' : `holds ${odd === ' ' ? 'a space' : quote(odd)}`
  const hint =
    'Use 1 to 64 of `A-Z a-z 0-9 _ . -`; the API’s own name can stand in the endpoint, a header or the body'
  report(`the name of the argument ${quote(name)} ${fault}, which model providers refuse`, hint)
}

function checkUnused(
  { servers, tools }: Configuration,
  advise: Advise,
  doubtful: ReadConfiguration['doubtful'],
) {
  // A server that allows none is told already.
  if (servers.length === 0 || servers.some(({ allowedTools }) => !allowedTools?.length)) return
  if (servers.some((_, i) => doubtful(['servers', i, 'allowedTools']))) return
  const allowed = new Set(servers.flatMap(({ allowedTools }) => allowedTools ?? []))
  const names = servers.map(({ name }) => quote(name)).slice(0, 3)
  // A name that no tool has is told already, and most likely means one of these.
  const defined = new Set(tools.map(({ name }) => name))
  const unknown = [...allowed].filter((name) => !defined.has(name))
  const meant = unknown.slice(0, MAX_MEANT).map((name) => nearest(name, defined))
  let excused = unknown.length - meant.filter((name) => name !== undefined).length
  for (const [i, { name }] of tools.entries())
    if (!allowed.has(name) && !meant.includes(name) && excused-- <= 0)
      advise(
        'unused-tool',
        ['tools', i, 'name'],
        `no server allows the tool ${quote(name)}`,
        `Add it to the \`allowedTools\` of ${names.join(' or ')}, or remove it`,
      )
}

function checkLengths({ tools, routers, mcpServers }: Configuration, advise: Advise) {
  for (const [i, { name }] of tools.entries()) {
    // MCP allows it, and clients that hand names on as they are have the whole request refused.
    if (/^[\w.-]+$/.test(name) && name.includes('.'))
      advise(
        'name-form',
        ['tools', i, 'name'],
        `the name of the tool ${quote(name)} holds \`.\`, which most model providers refuse`,
        `Write for example ${quote(name.replaceAll('.', '_'))}`,
        'info',
      )
    if (name.length <= MAX_TOOL_NAME || name.length > 128) continue
    const message = `the name of the tool ${quote(name)} has ${name.length} characters, and model providers take ${MAX_TOOL_NAME}`
    advise('name-length', ['tools', i, 'name'], message, 'Shorten it; a text for people belongs into `title`')
  }
  const prefixed = new Set(routers.filter(({ server }) => typeof server !== 'string').flatMap(serverNames))
  for (const [i, { name: server, allowedTools, toolOverrides, blockedTools }] of mcpServers.entries()) {
    const front = prefixed.has(server) ? `${server}__` : ''
    if (front.length >= MAX_TOOL_NAME) {
      const message = `tools of ${quote(server)} are known as \`server__tool\`, and its name alone leaves none of the ${MAX_TOOL_NAME} characters that model providers take`
      advise('name-length', ['mcpServers', i, 'name'], message, 'Shorten the name of the server')
      continue
    }
    const known = new Set([...(allowedTools ?? []), ...Object.keys(toolOverrides)])
    for (const own of known) {
      const shown = `${front}${toolOverrides[own]?.name ?? own}`
      if (shown.length <= MAX_TOOL_NAME || blockedTools.includes(own)) continue
      const renamed = toolOverrides[own]?.name !== undefined
      const at = allowedTools?.indexOf(own) ?? -1
      const message = `the tool is known as ${quote(shown)}, of ${shown.length} characters, and model providers take ${MAX_TOOL_NAME}`
      const place = renamed
        ? ['toolOverrides', own, 'name']
        : at === -1
          ? ['toolOverrides', own]
          : ['allowedTools', at]
      const hint = front
        ? 'Shorten the name of the server, or of the tool by `toolOverrides`'
        : 'Rename it by `toolOverrides`'
      advise('name-length', ['mcpServers', i, ...place], message, hint)
    }
  }
}
