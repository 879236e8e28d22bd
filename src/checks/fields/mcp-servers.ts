import type { McpServer } from '../../config/index.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { quote } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'
import { checkResponse } from './response.ts'
import { checkDuration, checkLimits, reportIdle } from './value-rules.ts'

export const MCP_SERVER_CHECKS: readonly Check[] = [
  {
    codes: ['invalid-value'],
    on: 'mcpServer',
    check({ limits, startupTimeout, idleTimeout, breaker }, report) {
      checkLimits(limits, ['limits'], report)
      checkDuration(startupTimeout, ['startupTimeout'], report)
      checkDuration(idleTimeout, ['idleTimeout'], report)
      if (breaker) checkDuration(breaker.pause, ['breaker', 'pause'], report)
    },
  },
  { codes: ['key-without-effect'], on: 'mcpServer', check: checkIdleKeys },
  {
    codes: ['empty-allowed-tools', 'key-without-effect', 'duplicate-name'],
    on: 'mcpServer',
    check: checkToolNames,
  },
  {
    codes: ['mask-syntax', 'key-without-effect'],
    on: 'mcpServer',
    check({ toolOverrides }, report) {
      for (const [own, { response }] of Object.entries(toolOverrides)) {
        if (!response) continue
        const path = ['toolOverrides', own, 'response']
        checkResponse(response, undefined, path, report)
        if (response.fields)
          report({
            code: 'key-without-effect',
            path: [...path, 'fields'],
            message: '`fields` has no effect for tools of MCP servers',
            hint: 'Remove it, and write `select`',
          })
      }
    },
  },
  { codes: ['command-line', 'literal-template', 'unexpanded-shell'], on: 'mcpServer', check: checkCommand },
]

function checkIdleKeys(server: McpServer, report: Reporter, { doubtful, path }: Context) {
  if (doubtful([...path, 'type'])) return
  const idle =
    server.type === 'stdio'
      ? (['url', 'headers', 'tls', 'proxy'] as const)
      : (['command', 'args', 'env'] as const)
  const given = idle.filter((key) => Object.keys(server[key] ?? {}).length > 0)
  // Over SSE a server is called through one stream, which has pauses of its own.
  const keys = server.breaker && server.type !== 'streamable-http' ? [...given, 'breaker'] : given
  reportIdle(keys, `the MCP server ${quote(server.name)}`, server.type, [], report)
}

/** Two tools under one name; the server's other tools are known only when it runs. */
function checkToolNames({ toolOverrides, blockedTools, allowedTools }: McpServer, report: Reporter) {
  if (allowedTools?.length === 0)
    report({
      code: 'empty-allowed-tools',
      path: ['allowedTools'],
      message: 'the MCP server allows no tools',
      hint: 'Name tools, or remove the key to allow all',
    })
  for (const [i, tool] of blockedTools.entries())
    if (allowedTools?.includes(tool))
      report({
        code: 'key-without-effect',
        path: ['blockedTools', i],
        message: `the tool ${quote(tool)} is allowed and blocked, so it is hidden`,
        hint: 'Remove it from one of the two lists',
      })
  const seen = new Map<string, string>()
  for (const [own, { name = own }] of Object.entries(toolOverrides)) {
    const path = ['toolOverrides', own]
    const hidden = blockedTools.includes(own) || (allowedTools && !allowedTools.includes(own))
    if (hidden)
      report({
        code: 'key-without-effect',
        path,
        message: `the tool ${quote(own)} is hidden, so its override has no effect`,
        hint: 'Remove one of the two',
      })
    if (name !== own && !hidden && allowedTools?.includes(name) && !Object.hasOwn(toolOverrides, name))
      report({
        code: 'duplicate-name',
        path: [...path, 'name'],
        message: `${quote(name)} is the name of another allowed tool`,
        hint: 'Choose another name',
      })
    const first = seen.get(name)
    if (first === undefined) seen.set(name, own)
    else
      report({
        code: 'duplicate-name',
        path: [...path, 'name'],
        message: `two tools have the name ${quote(name)}`,
        hint: 'Rename one of the two',
        related: { path: ['toolOverrides', first], message: 'the first one' },
      })
  }
}

/** A name that a shell would look up, and something behind it. */
const COMMAND_LINE = /^[\w.+-]+\s+\S/
/** What only a shell replaces. */
const SHELL = /^(?:--?[\w-]+=)?(?:~(?:\/|$)|\$[A-Za-z_]\w*(?:\/|$))/

/** `command` is started as it stands, without a shell. */
function checkCommand(server: McpServer, report: Reporter, { doubtful, path }: Context) {
  const { type, command = '', args, env } = server
  if (type !== 'stdio' || doubtful([...path, 'type'])) return
  if (COMMAND_LINE.test(command)) {
    const [first = '', ...rest] = command.trim().split(/\s+/)
    report({
      code: 'command-line',
      path: ['command'],
      message: `${quote(command)} is a command with its arguments; the gateway looks for a program of that whole name`,
      hint: `Write \`command: ${first}\` and \`args: [${[...rest, ...args].join(', ')}]\``,
    })
  }
  const words: [Path, string][] = [
    [['command'], command],
    ...args.map((arg, i): [Path, string] => [['args', i], arg]),
  ]
  for (const [path, text] of words)
    if (text.includes('{{'))
      report({
        code: 'literal-template',
        path,
        message: 'only `env`, `url` and `headers` are templates; the server gets this text unchanged',
        hint: 'Pass the value in `env`, or write `${NAME}` for an environment variable',
      })
  const values = Object.entries(env).map(([name, value]): [Path, string] => [['env', name], value])
  for (const [path, text] of [...words, ...values])
    if (SHELL.test(text))
      report({
        code: 'unexpanded-shell',
        path,
        message: `no shell expands ${quote(text)}`,
        hint: 'Write the whole path, or `${NAME}` for an environment variable: `${HOME}/…`',
      })
}
