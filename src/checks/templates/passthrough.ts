import { asksForLogin, type Configuration, ownServers } from '../../config/index.ts'
import type { Subject } from '../subjects.ts'
import type { Ref, TemplateReporter } from './walk.ts'

/** Whether a template serves a router that authenticates callers. */
export function subjectsBehindLogin(configuration: Configuration): (subject: Subject) => boolean {
  const { routers, servers, tools, mcpServers } = configuration
  const names = new Set(routers.filter(asksForLogin).flatMap((router) => ownServers(router, configuration)))
  const own = servers.filter(({ name }) => names.has(name))
  const isOffered = tools.map((tool) =>
    own.some(({ allowedTools }) => allowedTools?.includes(tool.name) ?? true),
  )
  const isProxied = mcpServers.map(({ name }) => names.has(name))
  return ({ path: [kind, index] }) => {
    if (kind === 'tools') return isOffered[index as number] === true
    return kind === 'mcpServers' && isProxied[index as number] === true
  }
}

/** Finds templates that would forward the callers' token for the gateway. */
export function checkPassthrough(refs: readonly Ref[], report: TemplateReporter): void {
  for (const ref of refs) {
    const [root, field, header] = ref.path
    if (root === 'Request' && field === 'Headers' && header?.toLowerCase() === 'authorization')
      report({
        code: 'token-passthrough',
        at: ref,
        message: 'the token with which callers log in to the gateway must not be sent on',
        hint: 'Write `credentials` for the server, which may exchange the token for one of the upstream, or send `.Caller.subject` for the name of the caller, or another header of the caller, such as `{{index .Request.Headers "X-Upstream-Authorization"}}`',
      })
  }
}
