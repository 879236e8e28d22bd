import { DEFAULT_LIMITS, type Limits, type ReadConfiguration } from '../../config/index.ts'
import { type CheckEndpointsOptions, checkEndpoints, type EndpointCheck } from '../../endpoints/index.ts'
import { createLog } from '../../telemetry/log.ts'
import { VERSION } from '../version.ts'
import { progressBar } from './progress.ts'

type Options = Pick<CheckEndpointsOptions, 'timeout' | 'retries' | 'concurrency' | 'start' | 'call'>

/** Checks endpoints with a progress bar, until Ctrl-C; what was not finished by then is left out. */
export async function runChecks(
  configurations: readonly ReadConfiguration[],
  { limits = DEFAULT_LIMITS, ...options }: Options & { limits?: Limits } = {},
): Promise<{ checks: EndpointCheck[]; cancelled: boolean }> {
  const { env, stderr } = process
  const log = await createLog({ level: 'silent', format: 'json' })
  const abort = new AbortController()
  const interrupt = () => abort.abort()
  const bar = progressBar(stderr, env)
  process.once('SIGINT', interrupt)
  try {
    const { signal } = abort
    const context = { env, limits, log, version: VERSION, signal, onProgress: bar.show }
    const checks = await checkEndpoints(configurations, { ...context, ...options })
    return { checks, cancelled: signal.aborted }
  } finally {
    process.off('SIGINT', interrupt)
    bar.clear()
  }
}
