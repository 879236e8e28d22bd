import type { CodeInfo } from '../codes.ts'

/** What `check-endpoints` and `validate --endpoints` find. */
export const ENDPOINTS = {
  'endpoint-unreachable': {
    severity: 'error',
    title: 'An endpoint that cannot be reached',
    cause:
      'The host has no address, refuses the connection, does not respond, or closes the connection: every call would fail.',
    fix: 'Check spelling, port, DNS, VPN and firewalls, and that the service runs; try it from the machine on which the gateway runs.',
  },
  'endpoint-tls': {
    severity: 'error',
    title: 'An endpoint whose certificate is not trusted',
    cause:
      'The certificate has expired, is self-signed, is for another host or comes from an unknown authority, or the port does not speak TLS: every call would fail.',
    fix: 'Renew or replace the certificate; add your own authority with `NODE_EXTRA_CA_CERTS`.',
  },
  'certificate-expires': {
    severity: 'warning',
    title: 'A certificate that expires soon',
    cause: 'The certificate of an endpoint expires in fewer than 14 days.',
    fix: 'Renew the certificate, and check why it is not renewed automatically.',
  },
  'endpoint-credentials': {
    severity: 'error',
    title: 'An endpoint that refuses the credentials',
    cause: 'The endpoint responded with 401 or 403 to the headers of the configuration.',
    fix: 'Check the secret and how the header is written. Where callers bring their own credentials, nothing is wrong.',
  },
  'endpoint-answer': {
    severity: 'error',
    title: 'An endpoint with an unusable response',
    cause:
      'The path of the endpoint does not exist, the service is not ready, or a called tool returned an error.',
    fix: 'Check the path of `endpoint`, and the service’s log.',
  },
  'mcp-handshake': {
    severity: 'error',
    title: 'An MCP server without a handshake',
    cause:
      'The server at `url`, or the program that `command` starts, does not speak MCP over that transport: often the path or the `type` is wrong, or a web page responds.',
    fix: 'Check `type` and the path of `url`; run the command by hand.',
  },
  'command-not-found': {
    severity: 'error',
    title: 'A command that does not exist',
    cause: 'The program of an MCP server over stdio is not in PATH, is not a file, or is not executable.',
    fix: 'Install it, write its whole path, or make it executable.',
  },
} as const satisfies Record<string, CodeInfo>
