import { isRepeatable, type Server, type Tool } from '../../config/index.ts'
import type { Reporter } from '../../findings/index.ts'
import { quote } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'
import { checkDuration } from './value-rules.ts'

/** Checks of retries and circuit breakers. */
export const RETRY_CHECKS: readonly Check[] = [
  { codes: ['key-without-effect'], on: 'server', check: checkServer },
  {
    codes: ['invalid-value'],
    on: 'server',
    check({ breaker }, report) {
      if (breaker) checkDuration(breaker.pause, ['breaker', 'pause'], report)
    },
  },
  { codes: ['key-without-effect'], on: 'tool', check: checkTool },
]

/** Attempts that a server's other settings prevent. */
export function checkAttempts(
  { name, retry, breaker }: Pick<Server, 'name' | 'retry' | 'breaker'>,
  report: Reporter,
) {
  if (!retry) return
  if (retry.attempts === 1)
    report({
      code: 'key-without-effect',
      path: ['retry', 'attempts'],
      message: `\`attempts: 1\` repeats no request of the server ${quote(name)}`,
      hint: 'Write 2 or more, or remove `retry`',
    })
  if (breaker && breaker.failures < retry.attempts)
    report({
      code: 'key-without-effect',
      path: ['retry', 'attempts'],
      message: `the server ${quote(name)} is no longer called after ${breaker.failures} failures (\`breaker\`), so no request is sent ${retry.attempts} times`,
      hint: 'Write fewer `attempts`, or more `failures`',
    })
}

function checkServer(server: Server, report: Reporter, { configuration, doubtful }: Context) {
  const { name, retry, allowedTools } = server
  checkAttempts(server, report)
  if (!retry) return
  const { tools } = configuration
  if (doubtful(['tools']) || tools.some((_, i) => doubtful(['tools', i]))) return
  const own = tools.filter((tool) => allowedTools?.includes(tool.name) ?? true)
  if (own.length && !own.some((tool) => isRepeatable(tool.method, tool)))
    report({
      code: 'key-without-effect',
      path: ['retry'],
      message: `\`retry\` has no effect for the server ${quote(name)}: no request of its tools may be sent twice`,
      hint: 'Write `annotations: {idempotentHint: true}` for tools that do no harm when they are called twice, or remove `retry`',
    })
}

function checkTool(tool: Tool, report: Reporter) {
  const { name, method, retry } = tool
  if (retry && retry.attempts > 1 && !isRepeatable(method, tool))
    report({
      code: 'key-without-effect',
      path: ['retry'],
      message: `\`retry\` has no effect for the tool ${quote(name)}: its ${method} request may not be sent twice`,
      hint: 'If sending it twice does no harm, write `annotations: {idempotentHint: true}`, otherwise remove `retry`',
    })
}
