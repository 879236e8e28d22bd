import { DEFAULT_LIMITS, type Limits, type ReadConfiguration } from '../../config/index.ts'
import { type CheckEndpointsOptions, checkEndpoints, type EndpointCheck } from '../../endpoints/index.ts'
import { createLog } from '../../telemetry/log.ts'
import { VERSION } from '../version.ts'

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

export interface ProgressBar {
  show(done: number, total: number, what: string): void
  /** Leaves nothing of it on the screen. */
  clear(): void
}

const WIDTH = 20

/** A bar on the last line of a terminal; nothing elsewhere, nor in CI. */
export function progressBar(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): ProgressBar {
  const shown = stream.isTTY && !env.CI && env.TERM !== 'dumb'
  if (!shown) return { show() {}, clear() {} }
  return {
    show(done, total, what) {
      const filled = Math.round((done / total) * WIDTH)
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${done}/${total} `
      const room = Math.max(0, (stream.columns || 80) - bar.length - 1)
      const name = what.replace(/[^\x20-\x7e]/g, '?').slice(0, room)
      stream.write(`\r\x1b[2K${bar}${name}`)
    },
    clear() {
      stream.write('\r\x1b[2K')
    },
  }
}
