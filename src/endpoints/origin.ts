import type { Socket } from 'node:net'
import { HttpClient, NetFault } from '../net/index.ts'
import { ask, type HttpHead } from './ask.ts'
import { connectTo, dial, hostOf } from './connect.ts'
import { networkFault, silence } from './faults.ts'
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

/** Checks an origin step by step: name, connection, TLS, and one answer to a request that changes nothing. */
export async function checkOrigin(probe: ToolProbe, timeout: number, signal: AbortSignal): Promise<Step[]> {
  if (probe.tool.proxy) return checkProxied(probe, timeout, signal)
  const steps: Step[] = []
  const host = hostOf(probe.origin)
  const sockets = new Set<Socket>()
  let used = false
  const open = async () => {
    const socket = await connectTo(host, used ? [] : steps, timeout, signal)
    used = true
    if (socket) sockets.add(socket)
    return socket
  }
  const send = async (method: string): Promise<HttpHead | undefined> => {
    const socket = await open()
    return socket && ask(socket, probe.origin, { method, path: probe.path, headers: probe.headers }, signal)
  }
  try {
    const answered = await askSafely(probe, async (method) => (await send(method))?.status)
    if (answered) steps.push(judge(answered, probe, host.at))
  } catch (error) {
    const fault = signal.aborted
      ? silence(`${host.at} did not answer HTTP`, timeout)
      : networkFault(error, host.at)
    steps.push({ name: 'HTTP', status: 'failed', ...fault })
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  return steps
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

/** Behind a proxy neither the name nor the certificate of the origin can be seen from here. */
async function checkProxied(probe: ToolProbe, timeout: number, signal: AbortSignal): Promise<Step[]> {
  const steps: Step[] = []
  const { host, port } = probe.tool.proxy!
  const at = `${host}:${port}`
  const socket = await dial({ host, port, secure: false, at: `the proxy ${at}` }, steps, timeout, signal)
  for (const step of steps) step.name = 'proxy'
  if (!socket) return steps
  socket.destroy()
  const http = new HttpClient()
  try {
    const { origin, path, headers } = probe
    const limits = { timeout, connectTimeout: timeout, maxSize: Number.MAX_SAFE_INTEGER }
    const options = { ...limits, signal, proxy: probe.tool.proxy }
    const answered = await askSafely(
      probe,
      async (method) => (await http.fetch({ method, origin, path, headers }, options)).status,
    )
    if (answered) steps.push(judge(answered, probe, probe.origin))
  } catch (error) {
    if (!(error instanceof NetFault)) throw error
    const detail = error.clause
    const hint = 'Check that the proxy may reach the origin'
    steps.push({
      name: 'HTTP',
      status: 'failed',
      detail,
      hint,
      code: 'endpoint-unreachable',
      transient: true,
    })
  } finally {
    await http.close()
  }
  return steps
}

/** What a status says of the origin. Sample arguments may well be refused: only what no call could mend is a fault. */
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
    if (callerCredential) return fine(': calls bring their own credentials')
    const what = `${at} refused ${credential ? 'the credentials' : 'a request without credentials'}: ${said}`
    // Many services guard methods that nobody uses by 403.
    const level = status === 401 && credential ? 'failed' : 'warning'
    const hint = credential
      ? `Check the credential that the headers of the tool \`${tool.name}\` send`
      : `Add the credential to the headers of the tool \`${tool.name}\``
    return bad(level, 'endpoint-credentials', what, hint)
  }
  if (status === 404 && method !== 'OPTIONS') {
    const detail = `${at} knows no such path: ${said} for the tool \`${tool.name}\``
    if (fixed) return bad('failed', 'endpoint-answer', detail, 'Check the path of the endpoint')
    return fine(' to sample arguments')
  }
  if (status >= 502 && status <= 504)
    return {
      ...bad(
        'failed',
        'endpoint-answer',
        `${at} is not ready: ${said}`,
        'See that the service behind it runs',
      ),
      transient: true,
    }
  if (status >= 500 && status !== 501)
    return bad('warning', 'endpoint-answer', `${at} has trouble: ${said}`, 'See the log of the service')
  return fine()
}
