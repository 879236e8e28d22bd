import { sampleArgs } from '../checks/samples.ts'
import { toolSubjects } from '../checks/subjects.ts'
import { HttpClient } from '../net/index.ts'
import { type CompiledTool, compileTools } from '../tools/index.ts'
import { type CheckEndpointsOptions, DEFAULTS, type Read, type Step, type Target, userOf } from './types.ts'

/** The tools that `--call` names, each of which is called for good, once for the first server that offers it. */
export function callTargets(reads: readonly Read[], options: CheckEndpointsOptions): Target[] {
  const { call = [], env, limits, timeout = DEFAULTS.timeout } = options
  return reads.flatMap((read) =>
    read.configuration.tools.flatMap((tool, index): Target[] => {
      if (!call.includes(tool.name)) return []
      const { configuration } = read
      const { args, subjects } = toolSubjects(configuration, tool, index)
      const server = subjects[0]!.servers[0] ?? { name: configuration.name, config: {} }
      const only = { ...server, allowedTools: [tool.name] }
      const given = sampleArgs(args, true)
      const run = async (signal: AbortSignal): Promise<Step[]> => {
        const http = new HttpClient()
        try {
          const all = { ...configuration, servers: [only] }
          const context = { env, limits: { ...limits, timeout, connectTimeout: timeout }, http }
          const made = compileTools(all, only, context).tools.get(tool.name)
          if (!made)
            return [{ name: 'call', status: 'skipped', detail: 'it has errors: run plantgw validate' }]
          return [await callOnce(made, given, signal)]
        } finally {
          await http.drain()
        }
      }
      const users = [userOf(read, tool.name, ['tools', index, 'endpoint'])]
      // The call has a time-out of its own, which says more.
      return [{ type: 'call', endpoint: tool.name, users, timeout: timeout + 1000, run }]
    }),
  )
}

async function callOnce(tool: CompiledTool, args: Parameters<CompiledTool['call']>[0], signal: AbortSignal) {
  const { name } = tool.definition
  const params = { name, arguments: args } as never
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const outcome = await tool.call(args, { headers: {}, path: '/', body, signal })
  const { upstreamStatus, failure, detail, result } = outcome
  const status = upstreamStatus === undefined ? '' : `answered ${upstreamStatus}`
  if (!failure) return { name: 'call', status: 'ok', detail: status || 'answered' } satisfies Step
  const [first] = result.content
  // An answer of the upstream is its own affair, and may be long.
  const said = status || detail || (first?.type === 'text' ? first.text.slice(0, 300) : failure)
  return {
    name: 'call',
    status: 'failed',
    detail: `called with sample arguments, the tool \`${name}\` failed: ${said.replace(/\.$/, '')}`,
    hint: 'Run `plantgw render` to see the request, and `plantgw call` to call it with other arguments',
    code: failure === 'connect' || failure === 'timeout' ? 'endpoint-unreachable' : 'endpoint-answer',
  } satisfies Step
}
