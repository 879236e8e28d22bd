import type { CodeInfo } from '../codes.ts'

/** What `check-endpoints` and `validate --endpoints` find. */
export const ENDPOINTS = {
  'endpoint-unreachable': {
    severity: 'error',
    title: 'An endpoint that cannot be reached',
    cause:
      'The host has no address, refuses the connection, is silent, or closes the connection: every call would fail.',
    cure: 'Check spelling, port, DNS, VPN and firewalls, and that the service runs; try it from where the gateway runs.',
  },
  'endpoint-tls': {
    severity: 'error',
    title: 'An endpoint whose certificate is not trusted',
    cause:
      'The certificate has expired, is self-signed, is for another host or comes from an unknown authority, or the port does not speak TLS: every call would fail.',
    cure: 'Renew or replace the certificate; give an authority of your own to the gateway with `NODE_EXTRA_CA_CERTS`.',
  },
  'certificate-expires': {
    severity: 'warning',
    title: 'A certificate that ends soon',
    cause: 'Fewer than 14 days are left of the certificate of an endpoint.',
    cure: 'Renew it, and see why that does not happen by itself.',
  },
  'endpoint-credentials': {
    severity: 'error',
    title: 'An endpoint that refuses the credentials',
    cause: 'It answered 401 or 403 to the headers that the configuration gives.',
    cure: 'Check the secret and how the header is written. Where callers bring their own credentials, nothing is wrong.',
  },
  'endpoint-answer': {
    severity: 'error',
    title: 'An endpoint that answers otherwise than a call needs',
    cause:
      'The path of the endpoint does not exist, the service is not ready, or a tool that was called said that it failed.',
    cure: 'Check the path of `endpoint`, and the log of the service.',
  },
  'mcp-handshake': {
    severity: 'error',
    title: 'An MCP server that gives no handshake',
    cause:
      'What answers at `url`, or what `command` starts, does not speak MCP over that transport: often the path or the `type` is wrong, or a page for browsers answers.',
    cure: 'Check `type` and the path of `url`; run the command by hand.',
  },
  'command-not-found': {
    severity: 'error',
    title: 'A command that is not there',
    cause: 'The program of an MCP server over stdio is not in PATH, is no file, or may not be run.',
    cure: 'Install it, write its whole path, or make it executable.',
  },
} as const satisfies Record<string, CodeInfo>
