import { type NetFaultKind, netFault } from '../net/index.ts'
import type { Step } from './types.ts'

export type StepFault = Pick<Step, 'detail' | 'hint' | 'code' | 'transient'>

const AUTHORITY =
  'Have the service send the whole chain, or name the authority with NODE_EXTRA_CA_CERTS=file.pem'
const HINTS: Partial<Record<NetFaultKind, string>> = {
  name: 'Check the spelling of the host, and the DNS and VPN of this machine',
  refused: 'Start the service, or correct the port',
  unreachable: 'Check routes, VPN and firewall',
  'connect-timeout': 'Check the port, and firewalls on the way',
  closed: 'See the log of the service; a port that speaks TLS needs https://',
  protocol: 'Check the port; one that speaks TLS needs https://',
  proxy: 'Check that the proxy may connect to the origin',
  tls: 'Look at the certificate',
  outbound: 'Allow the host with `outbound` of the settings, if the gateway is meant to reach it',
}
/** Hints for TLS, by OpenSSL code. */
const TLS_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'Renew the certificate of the service',
  CERT_NOT_YET_VALID: 'Check the clocks of this machine and of the one that issued the certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'Give the gateway the certificate with NODE_EXTRA_CA_CERTS=file.pem, or have it signed by an authority',
  SELF_SIGNED_CERT_IN_CHAIN: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Write the name that is in the certificate, or add this one to the certificate',
  ERR_SSL_WRONG_VERSION_NUMBER: 'Write http:// if that is meant, or correct the port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'Write http:// if that is meant, or correct the port',
  EPROTO: 'Write http:// if that is meant, or correct the port',
}

/** Description and hint for a connection error. @param at `host:port` */
export function connectionFault(error: unknown, at: string, proxied = false): StepFault {
  const { kind, clause, code } = netFault(error, at, proxied)
  const isTls = kind === 'tls'
  const hint = (isTls && TLS_HINTS[code]) || HINTS[kind] || 'Check host and port'
  if (isTls) return { detail: clause, hint, code: 'endpoint-tls' }
  const transient = kind !== 'protocol' && (kind !== 'name' || code === 'EAI_AGAIN')
  return { detail: clause, hint, code: 'endpoint-unreachable', transient }
}

/** A timeout. @param what a clause such as "x did not respond" */
export function silence(what: string, timeout: number): StepFault {
  return {
    detail: `${what} within ${timeout / 1000} s`,
    hint: 'Give it more time with --timeout, or check firewalls on the way and the log of the service',
    code: 'endpoint-unreachable',
    transient: true,
  }
}
