import type { Server } from '../config/index.ts'
import type { CredentialsOf, SentHeader } from '../credentials/credential.ts'
import { Fault } from '../mcp/index.ts'
import { ask, hostOf, reach } from './connect.ts'
import { connectionFault, silence } from './faults.ts'
import type { ToolProbe } from './tools.ts'
import { credentialsHint, failed, type Run, type Step } from './types.ts'

/** The result of one request to an origin. */
interface Answered {
  method: string
  status: number
  /** Whether it names the required credentials. */
  challenges: boolean
}

/** The tool with which an origin is checked: preferably with a safe method and constant path, and credentials. */
function chooseProbe(probes: readonly ToolProbe[]): ToolProbe {
  const worth = ({ tool, fixed, credential }: ToolProbe) =>
    (isSafe(tool.method) ? 4 : 0) + (fixed ? 2 : 0) + (credential ? 1 : 0)
  return probes.reduce((best, each) => (worth(each) > worth(best) ? each : best))
}

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * Checks an origin step by step: name, connection, TLS, the tokens of the servers, and the response to a harmless
 * request. Behind a proxy, name and certificate cannot be checked.
 * @param probes the tools with this origin
 */
export async function checkOrigin(probes: readonly ToolProbe[], run: Run, of: CredentialsOf): Promise<void> {
  const probe = chooseProbe(probes)
  const { origin, connection } = probe
  const { proxy } = connection
  if (!(await reach(origin, run, connection))) return
  const at = proxy ? origin : hostOf(origin).at
  try {
    const headers = await fetchTokens(probes, run, of)
    if (run.steps.some(({ status }) => status === 'failed')) return
    const header = probe.isAuthored ? headers.get(probe.server) : undefined
    const sent = header
      ? {
          ...probe,
          headers: [...probe.headers, header.name, header.value],
          credential: true,
          callerCredential: false,
        }
      : probe
    run.steps.push(judge(await askSafely(sent, run), sent, at))
  } catch (error) {
    const fault = run.signal.aborted
      ? silence(`${at} did not respond to HTTP`, run.timeout)
      : connectionFault(error, at, proxy !== undefined)
    run.steps.push({ name: 'HTTP', status: 'failed', ...fault })
  }
}

/** The `credentials` of the servers, apart from those of each caller; adds a step for each token. */
async function fetchTokens(probes: readonly ToolProbe[], run: Run, of: CredentialsOf) {
  const headers = new Map<Server, SentHeader>()
  const owners = new Map(probes.map((one) => [one.server, one.owner]))
  for (const [server, owner] of owners) {
    const credentials = of(server, owner)
    if (!credentials || credentials.perCaller) continue
    const credential = credentials.of({ headers: {} })
    const header = credential instanceof Fault ? credential : await credential.header()
    if (header && !(header instanceof Fault)) headers.set(server, header)
    if (server.credentials?.type === 'static') continue
    run.steps.push(
      header instanceof Fault
        ? failed('token', 'endpoint-credentials', header.message, credentialsHint(server))
        : { name: 'token', status: 'ok', detail: `fetched for ${server.name}` },
    )
  }
  return headers
}

/** HEAD for safe methods, OPTIONS for others; GET only if HEAD is inconclusive. */
async function askSafely(
  { tool, origin, path, headers, connection }: ToolProbe,
  run: Run,
): Promise<Answered> {
  const send = async (method: string): Promise<Answered> => {
    const { status, challenges } = await ask({ method, origin, path, headers }, run, connection)
    return { method, status, challenges }
  }
  if (!isSafe(tool.method)) return send('OPTIONS')
  const answered = await send('HEAD')
  const { status } = answered
  return tool.method === 'HEAD' || status < 400 || status === 401 ? answered : send('GET')
}

/** Judges the status. Sample arguments may be refused: only results independent of arguments are faults. */
function judge({ method, status, challenges }: Answered, probe: ToolProbe, at: string): Step {
  const { tool, credential, callerCredential, fixed } = probe
  const said = `${method} answered ${status}`
  const fine = (more = ''): Step => ({ name: 'HTTP', status: 'ok', detail: said + more })
  if (status === 401 || status === 403) {
    if (callerCredential) return fine(': calls send credentials of their own')
    const what = `${at} refused ${credential ? 'the credentials' : 'a request without credentials'}: ${said}`
    const hint =
      !credential && status === 403 && !challenges
        ? 'It does not ask for credentials: see whether it takes requests from this address, to this host, with this method'
        : credential
          ? `Check the credential that the headers of the tool \`${tool.name}\` send`
          : `Add the credential to the headers of the tool \`${tool.name}\``
    // Many services answer unused methods with 403.
    const level = status === 401 && credential ? 'failed' : 'warning'
    return { ...failed('HTTP', 'endpoint-credentials', what, hint), status: level }
  }
  const bad = (detail: string, hint: string) => failed('HTTP', 'endpoint-answer', detail, hint)
  if (status === 404 && method !== 'OPTIONS') {
    const detail = `${at} does not have this path: ${said} for the tool \`${tool.name}\``
    return fixed ? bad(detail, 'Check the path of the endpoint') : fine(' to sample arguments')
  }
  if (status >= 502 && status <= 504) {
    const hint = 'Make sure that the service behind it runs'
    return { ...bad(`${at} is not ready: ${said}`, hint), transient: true }
  }
  if (status >= 500 && status !== 501)
    return { ...bad(`${at} failed: ${said}`, 'See the log of the service'), status: 'warning' }
  return fine()
}
