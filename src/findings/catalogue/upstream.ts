import type { CodeInfo } from '../codes.ts'

/** Proxied MCP servers. */
export const UPSTREAM = {
  'upstream-shared': {
    severity: 'error',
    title: 'A shared MCP server that differs by caller',
    cause:
      'With `isolation: shared` one process or connection serves everybody, so `env`, `url` and `headers` cannot depend on a request.',
    fix: 'Write `isolation: credential` or `session`, or keep the request out of the templates.',
    wrong:
      'mcpServers:\n  - {name: a, type: stdio, command: npx, isolation: shared, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
    right:
      'mcpServers:\n  - {name: a, type: stdio, command: npx, isolation: credential, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
  },
  'upstream-start': {
    severity: 'warning',
    title: 'An MCP server that did not start',
    cause:
      'A server with `preinstalled` or `policy: onStart` was started when the configuration was loaded, and did not respond. At a reload this is an error, and the gateway keeps serving the previous version.',
    fix: 'Run its command by hand, read its standard error (in the log), and increase `startupTimeout`.',
  },
  'command-line': {
    severity: 'warning',
    title: 'A command together with its arguments',
    cause: 'A child is started without a shell, so `command` must be only the name or path of a program.',
    fix: 'Write the program in `command`, and each argument as an entry of `args`.',
    wrong: 'mcpServers:\n  - {name: a, type: stdio, command: npx -y some-server}',
    right: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: [-y, some-server]}',
  },
  'literal-template': {
    severity: 'warning',
    title: 'A template where none is rendered',
    cause:
      'In an MCP server only `env`, `url` and `headers` are templates. `command` and `args` are used unchanged, so that no caller can change which program starts.',
    fix: 'Pass the value in `env`, or write `${NAME}` for an environment variable of the gateway.',
    wrong: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: ["--key={{.Request.Headers.Key}}"]}',
    right: 'mcpServers:\n  - {name: a, type: stdio, command: npx, env: {KEY: "{{.Request.Headers.Key}}"}}',
  },
  'unexpanded-shell': {
    severity: 'warning',
    title: 'A path that only a shell would understand',
    cause: 'A child is started without a shell, so `~` and `$NAME` are not replaced.',
    fix: 'Write the whole path, or `${NAME}`, which the gateway replaces itself.',
    wrong: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: [some-server, ~/notes]}',
    right: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: [some-server, "${HOME}/notes"]}',
  },
  'ambiguous-name': {
    severity: 'warning',
    title: 'Servers of one prefix with ambiguous tool names',
    cause:
      'If a router names several servers, a tool has the name `server__tool`. When one server is `a` and another `a__b`, `a__b__c` can be a tool of either.',
    fix: 'Rename one of the two servers.',
    wrong: 'routers:\n  - {server: [a, a__b], prefix: /all}',
    right: 'routers:\n  - {server: [a, b], prefix: /all}',
  },
} as const satisfies Record<string, CodeInfo>
