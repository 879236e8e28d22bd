import { quote } from '../text/index.ts'
import type { ClusterSettings } from './model.ts'
import type { Report } from './report.ts'

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
type Checked = Record<string, any>

export function buildCluster({ secret, advertise }: Checked): ClusterSettings {
  return { secret, advertise: URL.canParse(advertise) ? new URL(advertise).origin : advertise }
}

const SHORTEST_SECRET = 32

/** @param host what the gateway is bound to */
export function checkCluster({ secret, advertise }: Checked, host: string, report: Report): void {
  // It is not shown.
  if (secret.length < SHORTEST_SECRET)
    report(
      'invalid-value',
      ['cluster', 'secret'],
      `\`secret\` has fewer than ${SHORTEST_SECRET} characters`,
      'Make one with `openssl rand -base64 32`, and give it to every replica',
    )
  const fault = faultOf(advertise, host)
  if (fault === undefined) return
  report(
    'invalid-value',
    ['cluster', 'advertise'],
    `\`advertise\` ${fault}`,
    'Write scheme, address and port at which the other replicas reach this one, such as `http://10.0.0.7:5235`',
  )
}

function faultOf(text: string, host: string): string | undefined {
  if (!URL.canParse(text)) return `is no URL: ${quote(text)}`
  const { protocol, username, password, pathname, search, hash, hostname } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:') return 'is neither http nor https'
  // It is not shown: it may hold a password.
  if (username || password) return 'holds a user name or password'
  if (pathname !== '/' || search || hash) return `holds more than scheme, host and port: ${quote(text)}`
  if (hostname === '0.0.0.0' || hostname === '[::]')
    return `is an address to listen on, at which nobody is reached: ${quote(text)}`
  if (isLoopback(host) && !isLoopback(hostname) && protocol === 'http:')
    return `is ${quote(text)}, but the gateway listens on ${host} alone (\`host\`), where no other machine reaches it`
  return undefined
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}
