import type { Step } from './types.ts'

type Failed = Pick<Step, 'detail' | 'hint' | 'code' | 'transient'>

/** What an error of name, connection or HTTP means, and what to do. `at` is `host:port`. */
export function networkFault(error: unknown, at: string): Failed {
  const code = codeOf(error)
  const unreachable = (detail: string, hint: string, transient = true): Failed => ({
    detail,
    hint,
    code: 'endpoint-unreachable',
    transient,
  })
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_NODATA':
    case 'EAI_NONAME':
      return unreachable(
        `the name of ${at} is not known (${code})`,
        'Check the spelling of the host, and the DNS and VPN of this machine',
        false,
      )
    case 'EAI_AGAIN':
      return unreachable(
        `the name of ${at} could not be looked up (${code})`,
        'Check the DNS of this machine',
      )
    case 'ECONNREFUSED':
      return unreachable(
        `${at} refused the connection: nothing listens there`,
        'Start the service, or correct the port',
      )
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return unreachable(`there is no way from here to ${at} (${code})`, 'Check routes, VPN and firewall')
    case 'ETIMEDOUT':
      return unreachable(
        `${at} did not accept a connection in time`,
        'Check the port, and firewalls on the way',
      )
    case 'ECONNRESET':
    case 'EPIPE':
      return unreachable(
        `${at} closed the connection without an answer`,
        'See the log of the service; a port that speaks TLS wants https://',
      )
    default:
      if (code.startsWith('HPE_'))
        return unreachable(
          `${at} answered with something that is not HTTP`,
          'Check the port; one that speaks TLS wants https://',
          false,
        )
      return unreachable(`${at} could not be asked${code && ` (${code})`}`, 'Check host and port')
  }
}

/** Nothing came in time. */
export function silence(what: string, timeout: number): Failed {
  return {
    detail: `${what} within ${timeout / 1000} s`,
    hint: 'Give it more time with --timeout, or check firewalls on the way and the log of the service',
    code: 'endpoint-unreachable',
    transient: true,
  }
}

/** Why a certificate, or TLS itself, is no good. */
export function tlsFault(
  code: string,
  at: string,
  { host, until }: { host: string; until?: string },
): Failed {
  const failed = (detail: string, hint: string): Failed => ({ detail, hint, code: 'endpoint-tls' })
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return failed(
        `the certificate of ${at} has expired${until ? `, on ${until}` : ''}`,
        'Renew the certificate of the service',
      )
    case 'CERT_NOT_YET_VALID':
      return failed(
        `the certificate of ${at} is not valid yet`,
        'Check the clock of this machine and of the one that made the certificate',
      )
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return failed(
        `the certificate of ${at} is self-signed`,
        'Give the gateway the certificate with NODE_EXTRA_CA_CERTS=file.pem, or have it signed by an authority',
      )
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return failed(
        `the certificate of ${at} is signed by an authority that is not trusted here (${code})`,
        'Let the service send the whole chain, or give the authority with NODE_EXTRA_CA_CERTS=file.pem',
      )
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return failed(
        `the certificate of ${at} is for another host than ${host}`,
        'Write the name that the certificate holds, or add this one to the certificate',
      )
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'EPROTO':
      return failed(`${at} does not speak TLS (${code})`, 'Write http:// if it is meant, or correct the port')
    default:
      return failed(`no trusted TLS connection to ${at}${code && ` (${code})`}`, 'Look at the certificate')
  }
}

const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|EPROTO|ERR_OSSL)/

export function isTlsCode(code: string): boolean {
  return TLS.test(code)
}

/** The code of an error; of several attempts that of the first. */
export function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}
