import { FLAVOURS, type Flavour, sampleArgs, sampleRequest } from '../checks/samples.ts'
import { type Args, toolSubjects } from '../checks/subjects.ts'
import type { Env, Server, Tool } from '../config/index.ts'
import { headerOf } from '../config/model.ts'
import { headersOf, isBelowBase } from '../config/short-form.ts'
import type { OwnerOf } from '../credentials/credential.ts'
import type { Connection } from '../net/index.ts'
import { RenderError } from '../template/index.ts'
import { isSecretHeader, quote } from '../text/index.ts'
import { connectionOf } from '../tools/connection.ts'
import { below, compileEndpoint, renderBase } from '../tools/endpoint.ts'
import { CallError } from '../tools/failure.ts'
import { compileHeaders } from '../tools/headers.ts'
import { compileQuietly, isFixed, REQUEST_ROOTS, renderConfig, templateCompiler } from '../tools/templates.ts'
import { type Read, type User, userOf } from './types.ts'

/** A sample request of a tool. */
export interface ToolProbe {
  tool: Tool
  origin: string
  /** Path and query with sample arguments. */
  path: string
  /** Alternating names and values, independent of arguments and callers. */
  headers: string[]
  credential: boolean
  /** Whether calls bring their own credentials. */
  callerCredential: boolean
  server: Server
  owner: OwnerOf
  /** Whether the author, and no argument, chose the origin: only then `credentials` are sent. */
  isAuthored: boolean
  /** Connection settings of calls. */
  connection: Connection
  /** Whether the path is constant. */
  fixed: boolean
}

/** A tool with an endpoint to check. */
interface ToolUse {
  tool: Tool
  owner: OwnerOf
  user: User
  args: Args
  /** Servers that offer it; an unfinished file may have none. */
  servers: readonly [Server, ...Server[]]
}

export function toolUses(read: Read): ToolUse[] {
  const { configuration } = read
  return configuration.tools.map((tool, index) => {
    const { args, subjects } = toolSubjects(configuration, tool, index)
    const [first = { name: configuration.name, config: {}, redact: 'own' as const }, ...others] =
      subjects[0]!.servers
    const user = userOf(read, tool.name, ['tools', index, 'endpoint'])
    return { tool, owner: configuration, user, args, servers: [first, ...others] }
  })
}

/** A tool's sample request, or why there is none. Never throws. */
export async function probeOf(
  { tool, owner, args }: ToolUse,
  server: Server,
  env: Env,
): Promise<ToolProbe | string> {
  const compile = templateCompiler(env, [])
  const config = renderConfig(server, [], compile, [])
  const { template } = compileQuietly(tool.endpoint.trimEnd(), 'url', REQUEST_ROOTS, { env })
  if (!template) return 'its endpoint is not a valid template: run plantgw validate'
  const isPath = isBelowBase(tool.endpoint)
  const base = renderBase(server, [], compile, config, [])
  if (isPath && base === undefined) return `the server ${quote(server.name)} has no usable \`baseUrl\``
  const { endpoint, fault, authored } = compileEndpoint(
    isPath ? below(base!, template) : template,
    tool.args,
    config,
  )
  if (fault !== undefined) return `its endpoint ${fault}`
  const render = (flavour: Flavour) => {
    const Args = sampleArgs(args, true, flavour, template.references)
    return endpoint({ Config: config, Args, Request: sampleRequest(template.references) })
  }
  const target = await firstThatRenders(render)
  if (typeof target === 'string') return target
  const required = tool.args.some((arg) => arg.required && arg.position === 'query')
  return {
    tool,
    ...target,
    ...(await trustedHeaders(tool, server, config, env)),
    ...(server.credentials && { callerCredential: true }),
    server,
    owner,
    isAuthored: authored?.has(target.origin) ?? false,
    connection: connectionTo(tool, server),
    fixed: isFixed(template) && !required,
  }
}

/** Unusable certificates are reported by `plantgw validate`. */
function connectionTo(tool: Tool, server: Server): Connection {
  const { connection } = connectionOf(server, [], true)
  return { ...connection, proxy: tool.proxy ?? connection.proxy }
}

async function firstThatRenders<T>(render: (flavour: Flavour) => T | Promise<T>): Promise<T | string> {
  let why = ''
  for (const flavour of FLAVOURS) {
    try {
      return await render(flavour)
    } catch (error) {
      if (!(error instanceof CallError) && !(error instanceof RenderError)) throw error
      why ||= error instanceof CallError ? (error.detail ?? error.text) : error.message
    }
  }
  return `its endpoint cannot be rendered with sample arguments: ${why.replace(/\.$/, '')}`
}

/** Headers with literal values, or from `.Config` and the environment. */
async function trustedHeaders(
  tool: Tool,
  server: Server,
  config: Readonly<Record<string, string>>,
  env: Env,
) {
  const declared = headersOf(tool, [], server)
  const fixed = declared.filter(({ source }) => {
    const { template } = compileQuietly(source, 'header', REQUEST_ROOTS, { env })
    return template !== undefined && isFixed(template)
  })
  const own: Tool = { ...tool, args: [] }
  const made = compileHeaders(own, [], fixed, config, templateCompiler(env, []), [])
  // There is no body, so Content-Type is omitted.
  const headers = pairs(made.fixed).filter(([name]) => name.toLowerCase() !== 'content-type')
  const ofCalls = [
    ...declared.filter((one) => !fixed.includes(one)).map(({ name }) => name),
    ...tool.args.flatMap((arg) => headerOf(arg) ?? []),
  ]
  return {
    headers: headers.flat(),
    credential: headers.some(([name]) => isSecretHeader(name)),
    callerCredential: ofCalls.some(isSecretHeader),
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]!] as [string, string]] : []))
}
