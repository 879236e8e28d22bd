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
