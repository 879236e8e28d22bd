import type { CodeInfo } from '../codes.ts'

/** Of the process itself: found by `validate --settings`. */
export const PID = {
  'pid-not-writable': {
    severity: 'error',
    title: 'A pid file that cannot be written',
    cause:
      'The folder of the `pid` file is not a folder, or this user may not write into it: `serve` would not start.',
    fix: 'Choose another path, such as one below `/run/plantgw`, or give the gateway’s user permission to write there.',
  },
  'tls-file': {
    severity: 'error',
    title: 'A file of `tls` that cannot be used',
    cause:
      'The file is missing or is not PEM, the key does not belong to the certificate, or the time of a certificate is over: `serve` would not start, or the other side would refuse the connection. This concerns `tls` of the settings and of servers in configurations; of a server an expired certificate is a warning.',
    fix: 'Correct the path, or renew the certificate.',
  },
  'missing-package': {
    severity: 'error',
    title: 'A package that is not installed',
    cause:
      'The settings or a configuration name PostgreSQL, MySQL or Redis, whose packages are optional and not installed beside plantgw: `serve` could not connect.',
    fix: 'Run the `npm install` command of the hint where plantgw is installed, with `--global` for a global install.',
  },
} as const satisfies Record<string, CodeInfo>

/** Databases and brokers, with `--all`. */
export const CONNECTIONS = {
  'database-unreachable': {
    severity: 'error',
    title: 'A database that cannot be used',
    cause:
      'The server of `storage` cannot be reached, refuses the credentials or has no such database, or its file is damaged: `serve` would have nothing to serve, or the plant store could not be opened.',
    fix: 'Check host, port, user, password and the name of the database, and that the server takes connections from here.',
  },
  'broker-unreachable': {
    severity: 'error',
    title: 'A broker that cannot be used',
    cause:
      'The Redis of a `notifier` cannot be reached, refuses the credentials, or does not let this user subscribe to the topic: changes would not be announced.',
    fix: 'Check `addr`, `cluster_type`, `master_name` and the credentials; the user needs PING, SUBSCRIBE and PUBLISH on the topic.',
  },
} as const satisfies Record<string, CodeInfo>

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
