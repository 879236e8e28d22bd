import { HttpClient, NetFault } from '../net/index.ts'
import { ask, connectTo, dial, hostOf, type Run } from './connect.ts'
import { connectionFault, silence } from './faults.ts'
import type { ToolProbe } from './tools.ts'
import type { Step } from './types.ts'

/** What one request to an origin found. */
interface Answered {
  method: string
  status: number
}

/**
 * The one tool by which an origin is asked: best one with a safe method and a path that no argument changes,
 * whose answer says most.
 */
export function chooseProbe(probes: readonly ToolProbe[]): ToolProbe {
  const worth = ({ tool, fixed, credential }: ToolProbe) =>
    (isSafe(tool.method) ? 4 : 0) + (fixed ? 2 : 0) + (credential ? 1 : 0)
  return probes.reduce((best, each) => (worth(each) > worth(best) ? each : best))
}

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Checks an origin step by step: name, connection, TLS, and one response to a request that changes nothing. */
export async function checkOrigin(probe: ToolProbe, run: Run): Promise<Step[]> {
  if (probe.tool.proxy) return checkProxied(probe, run)
  const host = hostOf(probe.origin)
  let first = true
  const send = async (method: string): Promise<number | undefined> => {
    const socket = await connectTo(host, first ? run : { ...run, steps: [] })
    first = false
    if (!socket) return undefined
    const { origin, path, headers } = probe
    return (await ask(socket, { method, origin, path, headers }, run.signal)).status
  }
  try {
    const answered = await askSafely(probe, send)
    if (answered) run.steps.push(judge(answered, probe, host.at))
  } catch (error) {
    const fault = run.signal.aborted
      ? silence(`${host.at} did not respond to HTTP`, run.timeout)
      : connectionFault(error, host.at)
    run.steps.push({ name: 'HTTP', status: 'failed', ...fault })
  }
  return run.steps
}

/** HEAD for what is read, OPTIONS for what would be changed; GET only where HEAD gives no plain answer. */
async function askSafely(
  { tool }: ToolProbe,
  send: (method: string) => Promise<number | undefined>,
): Promise<Answered | undefined> {
  const method = isSafe(tool.method) ? 'HEAD' : 'OPTIONS'
  const status = await send(method)
  if (status === undefined) return undefined
  if (method === 'OPTIONS' || tool.method === 'HEAD' || status < 400 || status === 401)
    return { method, status }
  const again = await send('GET')
  return again === undefined ? { method, status } : { method: 'GET', status: again }
}

/** Behind a proxy neither the name nor the certificate of the origin can be checked from here. */
async function checkProxied(probe: ToolProbe, run: Run): Promise<Step[]> {
  const { steps, timeout, signal } = run
  const proxy = probe.tool.proxy!
  const { host, port } = proxy
  const socket = await dial({ host, port, secure: false, at: `the proxy ${host}:${port}` }, run, 'proxy')
  if (!socket) return steps
  socket.destroy()
  const http = new HttpClient({ connectTimeout: timeout })
  try {
    const { origin, path, headers } = probe
    const options = { timeout, maxSize: Number.MAX_SAFE_INTEGER, signal, proxy }
    const send = async (method: string) =>
      (await http.fetch({ method, origin, path, headers }, options)).status
    const answered = await askSafely(probe, send)
    if (answered) steps.push(judge(answered, probe, origin))
  } catch (error) {
    if (!(error instanceof NetFault)) throw error
    const hint = 'Check that the proxy may connect to the origin'
    const fault = { detail: error.clause, hint, code: 'endpoint-unreachable', transient: true } as const
    steps.push({ name: 'HTTP', status: 'failed', ...fault })
  } finally {
    await http.close()
  }
  return steps
}

/** What a status says of the origin. Sample arguments may well be refused: only what no arguments could change is a fault. */
function judge({ method, status }: Answered, probe: ToolProbe, at: string): Step {
  const { tool, credential, callerCredential, fixed } = probe
  const said = `${method} answered ${status}`
  const fine = (more = ''): Step => ({ name: 'HTTP', status: 'ok', detail: said + more })
  const bad = (level: 'failed' | 'warning', code: Step['code'], detail: string, hint: string): Step => ({
    name: 'HTTP',
    status: level,
    detail,
    hint,
    ...(code && { code }),
  })
  if (status === 401 || status === 403) {
    if (callerCredential) return fine(': calls send credentials of their own')
    const what = `${at} refused ${credential ? 'the credentials' : 'a request without credentials'}: ${said}`
    // Many services guard methods that nobody uses by 403.
    const level = status === 401 && credential ? 'failed' : 'warning'
    const hint = credential
      ? `Check the credential that the headers of the tool \`${tool.name}\` send`
      : `Add the credential to the headers of the tool \`${tool.name}\``
    return bad(level, 'endpoint-credentials', what, hint)
  }
  if (status === 404 && method !== 'OPTIONS') {
    const detail = `${at} does not have this path: ${said} for the tool \`${tool.name}\``
    if (fixed) return bad('failed', 'endpoint-answer', detail, 'Check the path of the endpoint')
    return fine(' to sample arguments')
  }
  if (status >= 502 && status <= 504)
    return {
      ...bad(
        'failed',
        'endpoint-answer',
        `${at} is not ready: ${said}`,
        'Make sure that the service behind it runs',
      ),
      transient: true,
    }
  if (status >= 500 && status !== 501)
    return bad('warning', 'endpoint-answer', `${at} failed: ${said}`, 'See the log of the service')
  return fine()
}
