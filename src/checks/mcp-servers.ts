import type { Configuration, McpServer } from '../config/model.ts'
import { checkLimits, MAX_DURATION, type Report } from '../config/report.ts'
import type { Path } from '../config/types.ts'
import { quote } from '../text/index.ts'
import type { Checking } from './fields.ts'

/** What is wrong with `mcpServers` although each value has the right type. */
export function checkMcpServers(
  { mcpServers, routers }: Configuration,
  report: Report,
  doubtful: Checking['doubtful'],
) {
  routers.forEach(({ server }, i) => {
    if (typeof server !== 'string' && !doubtful(['routers', i, 'server']))
      checkServerList(server, ['routers', i, 'server'], report)
  })
  mcpServers.forEach((server, i) => {
    if (doubtful(['mcpServers', i, 'type'])) return
    const idle =
      server.type === 'stdio' ? (['url', 'headers'] as const) : (['command', 'args', 'env'] as const)
    for (const key of idle) {
      const value = server[key]
      if (value === undefined || Object.keys(value).length === 0) continue
      const message = `\`${key}\` does nothing for the MCP server ${quote(server.name)} of type \`${server.type}\``
      report('key-without-effect', ['mcpServers', i, key], message, 'Remove it, or change `type`')
    }
    checkLimits(server.limits, ['mcpServers', i, 'limits'], report)
    for (const key of ['startupTimeout', 'idleTimeout'] as const) {
      if (server[key] >= 1 && server[key] <= MAX_DURATION) continue
      const hint = 'Write a duration from 1ms to 24d'
      report(
        'invalid-value',
        ['mcpServers', i, key],
        `\`${key}\` is too ${server[key] < 1 ? 'small' : 'large'}`,
        hint,
      )
    }
    checkToolNames(server, ['mcpServers', i], report)
    if (server.type === 'stdio') checkCommand(server, ['mcpServers', i], report)
  })
}

/** Two tools under one name; the server's other tools are known only when it runs. */
function checkToolNames(
  { toolOverrides, blockedTools, allowedTools }: McpServer,
  path: Path,
  report: Report,
) {
  if (allowedTools?.length === 0) {
    const hint = 'Name tools, or remove the key to allow all'
    report('empty-allowed-tools', [...path, 'allowedTools'], 'the MCP server allows no tool', hint)
  }
  for (const [i, tool] of blockedTools.entries())
    if (allowedTools?.includes(tool)) {
      const message = `the tool ${quote(tool)} is allowed and blocked, so it is hidden`
      report('key-without-effect', [...path, 'blockedTools', i], message, 'Remove it from one of the two')
    }
  const seen = new Map<string, string>()
  for (const [own, { name = own }] of Object.entries(toolOverrides)) {
    const at = [...path, 'toolOverrides', own]
    const hidden = blockedTools.includes(own) || (allowedTools && !allowedTools.includes(own))
    if (hidden)
      report(
        'key-without-effect',
        at,
        `the tool ${quote(own)} is hidden, so its override does nothing`,
        'Remove one of the two',
      )
    if (name !== own && !hidden && allowedTools?.includes(name) && !Object.hasOwn(toolOverrides, name)) {
      const message = `${quote(name)} is the name of another tool that is allowed`
      report('duplicate-name', [...at, 'name'], message, 'Choose another name')
    }
    const first = seen.get(name)
    if (first === undefined) seen.set(name, own)
    else
      report(
        'duplicate-name',
        [...at, 'name'],
        `two tools have the name ${quote(name)}`,
        'Rename one of the two',
        {
          path: [...path, 'toolOverrides', first],
          message: 'the first one',
        },
      )
  }
}

/** Tools are known as `server__name`, so the names of servers must tell them apart. */
function checkServerList(names: readonly string[], path: Path, report: Report) {
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) < i) {
      const message = `the router names the server ${quote(name)} twice`
      report('duplicate-name', [...path, i], message, 'Remove one of the two')
      continue
    }
    const other = names.find((each) => name.startsWith(`${each}__`))
    if (other === undefined) continue
    const message = `tools of ${quote(name)} can be taken for tools of ${quote(other)}: both begin with \`${other}__\``
    report('ambiguous-name', [...path, i], message, 'Rename one of the two servers')
  }
}

/** A name that a shell would look up, and something behind it. */
const COMMAND_LINE = /^[\w.+-]+\s+\S/
/** What only a shell replaces. */
const SHELL = /^(?:--?[\w-]+=)?(?:~(?:\/|$)|\$[A-Za-z_]\w*(?:\/|$))/

/** `command` is started as it stands, without a shell. */
function checkCommand({ command = '', args, env }: McpServer, path: Path, report: Report) {
  if (COMMAND_LINE.test(command)) {
    const [first = '', ...rest] = command.trim().split(/\s+/)
    const message = `${quote(command)} is a command with its arguments, and would be looked for under all of that name`
    const hint = `Write \`command: ${first}\` and \`args: [${[...rest, ...args].join(', ')}]\``
    report('command-line', [...path, 'command'], message, hint)
  }
  const words: [Path, string][] = [
    [[...path, 'command'], command],
    ...args.map((arg, i): [Path, string] => [[...path, 'args', i], arg]),
  ]
  for (const [at, text] of words)
    if (text.includes('{{')) {
      const message =
        'templates are rendered in `env`, `url` and `headers` only; the server gets this as it stands'
      report('literal-template', at, message, 'Give the value by `env`, or write `${NAME}` for a variable')
    }
  const values = Object.entries(env).map(([name, value]): [Path, string] => [[...path, 'env', name], value])
  for (const [at, text] of [...words, ...values])
    if (SHELL.test(text)) {
      const message = `no shell reads this, so ${quote(text)} stays as it is`
      report(
        'unexpanded-shell',
        at,
        message,
        'Write the whole path, or `${NAME}` for a variable: `${HOME}/…`',
      )
    }
}
