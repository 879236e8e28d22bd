import type { CodeInfo } from '../codes.ts'

/** Proxied MCP servers. */
export const UPSTREAM = {
  'upstream-shared': {
    severity: 'error',
    title: 'A shared MCP server that differs by caller',
    cause:
      'With `isolation: shared` one process or connection serves everybody, so `env`, `url` and `headers` cannot come from a request.',
    cure: 'Write `isolation: credential` or `session`, or keep the request out of the templates.',
    wrong:
      'mcpServers:\n  - {name: a, type: stdio, command: npx, isolation: shared, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
    right:
      'mcpServers:\n  - {name: a, type: stdio, command: npx, isolation: credential, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
  },
  'upstream-start': {
    severity: 'warning',
    title: 'An MCP server that did not start',
    cause:
      'A server with `preinstalled` or `policy: onStart` was started when the configuration was loaded, and did not answer.',
    cure: 'Run its command by hand, look at what it wrote to standard error (in the log), and give `startupTimeout` enough time.',
  },
} as const satisfies Record<string, CodeInfo>
