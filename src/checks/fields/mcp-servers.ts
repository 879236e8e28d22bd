import type { McpServer } from '../../config/index.ts'
import { TRANSPORTS } from '../../config/transports.ts'
import type { Path, Report, Reporter } from '../../findings/index.ts'
import { READ_RESULT } from '../../json/shaping/index.ts'
import { isIdentifier, quote, repeats, shellWords } from '../../text/index.ts'
import { type Context, withoutEffect } from '../check.ts'
import { checkResponse, takenName } from './response.ts'
import { checkAttempts } from './server-connections.ts'
import { checkDuration, reportIdle } from './value-rules.ts'

export function checkTimes({ startupTimeout, idleTimeout }: McpServer, report: Reporter) {
  checkDuration(startupTimeout, ['startupTimeout'], report)
  checkDuration(idleTimeout, ['idleTimeout'], report)
}

export function checkIdleKeys(server: McpServer, report: Reporter, { isRepaired, path }: Context) {
  if (isRepaired([...path, 'type'])) return
  const { keys } = TRANSPORTS[server.type]
  const all = new Set(Object.values(TRANSPORTS).flatMap((transport) => transport.keys))
  const idle = [...all].filter((key) => !keys.includes(key) && Object.keys(server[key] ?? {}).length > 0)
  if (keys.includes('retry')) checkAttempts(server, report)
  reportIdle(idle, `the MCP server ${quote(server.name)}`, server.type, [], report)
}

type Selection = Pick<McpServer, 'allowedTools' | 'blockedTools' | 'toolOverrides'>

/** Checks the tools shown of a server. @param limits of the server, if it is the server's own selection */
export function checkSelection(selection: Selection, report: Reporter, limits?: McpServer['limits']): void {
  checkToolNames(selection, report)
  const overrides = Object.entries(selection.toolOverrides)
  if (overrides.some(([, { response }]) => response?.more)) checkResultTool(selection, report)
  for (const [own, { response }] of overrides) {
    if (!response) continue
    const at = ['toolOverrides', own, 'response']
    checkResponse(response, undefined, at, report)
    const isCut = response.maxItems ?? response.maxChars ?? limits?.resultChars
    if (response.more && isCut === undefined)
      report(
        withoutEffect(
          [...at, 'more'],
          'without a limit: nothing is cut off the results of this tool',
          'Add `maxChars` or `maxItems`, or `limits.resultChars` of the server',
        ),
      )
    for (const key of ['fields', 'pages'] as const)
      if (response[key])
        report(
          withoutEffect(
            [...at, key],
            'for tools of MCP servers',
            key === 'fields' ? 'Remove it, and write `select`' : 'Remove it',
          ),
        )
  }
}

/** The endpoint has its own tool that reads kept results. */
function checkResultTool({ toolOverrides, allowedTools }: Selection, report: Reporter) {
  for (const [own, { name }] of Object.entries(toolOverrides))
    if (name === READ_RESULT) report(takenName(['toolOverrides', own, 'name']))
  const i = allowedTools?.indexOf(READ_RESULT) ?? -1
  if (i >= 0 && (toolOverrides[READ_RESULT]?.name ?? READ_RESULT) === READ_RESULT)
    report(takenName(['allowedTools', i]))
}

/** Two tools with one name; other tools of the server are known only at run time. */
function checkToolNames({ toolOverrides, blockedTools, allowedTools }: Selection, report: Reporter) {
  if (allowedTools?.length === 0)
    report({
      code: 'empty-allowed-tools',
      path: ['allowedTools'],
      message: '`allowedTools` is empty, so no tool is allowed',
      hint: 'Name tools, or remove the key to allow all',
    })
  const allowed = new Set(allowedTools)
  const blocked = new Set(blockedTools)
  for (const [i, tool] of blockedTools.entries())
    if (allowed.has(tool))
      report({
        code: 'key-without-effect',
        path: ['blockedTools', i],
        message: `the tool ${quote(tool)} is allowed and blocked, so it is hidden`,
        hint: 'Remove it from one of the two lists',
      })
  for (const [own, { name = own }] of Object.entries(toolOverrides)) {
    const path = ['toolOverrides', own]
    const hidden = blocked.has(own) || (allowedTools && !allowed.has(own))
    if (hidden)
      report({
        code: 'key-without-effect',
        path,
        message: `the tool ${quote(own)} is hidden, so its override has no effect`,
        hint: 'Remove one of the two',
      })
    if (name !== own && !hidden && allowed.has(name) && !Object.hasOwn(toolOverrides, name))
      report({
        code: 'duplicate-name',
        path: [...path, 'name'],
        message: `${quote(name)} is the name of another allowed tool`,
        hint: 'Choose another name',
      })
  }
  const owners = Object.keys(toolOverrides)
  const names = owners.map((own) => toolOverrides[own]!.name ?? own)
  for (const [at, first] of repeats(names))
    report({
      code: 'duplicate-name',
      path: ['toolOverrides', owners[at]!, 'name'],
      message: `two tools have the name ${quote(names[at]!)}`,
      hint: 'Rename one of the two',
      related: { path: ['toolOverrides', owners[first]!], message: 'the first one' },
    })
}

/** A command name followed by arguments. */
const COMMAND_LINE = /^[\w.+-]+\s+\S/
/** Syntax that only a shell expands. */
const SHELL = /^(?:--?[\w-]+=)?(?:~(?:\/|$)|\$[A-Za-z_]\w*(?:\/|$))/

function commandLine(command: string, args: readonly string[], path: Path): Report {
  const [first = '', ...rest] = shellWords(command) ?? command.trim().split(/\s+/)
  const list = `[${[...rest, ...args].map((word) => JSON.stringify(word)).join(', ')}]`
  return {
    code: 'command-line',
    path: ['command'],
    message: `${quote(command)} is a command with its arguments; the gateway looks for a program of that whole name`,
    hint: `Write \`command: ${first}\` and \`args: ${list}\``,
    fix: ({ text, locate }) => {
      const [range, key] = [locate([...path, 'command']), locate.key([...path, 'command'])]
      // Arguments in `args` would have to move, and variables are unknown here.
      if (!range || !key || locate.key([...path, 'args']) || !shellWords(command)) return undefined
      const written = text.slice(range.start.offset, range.end.offset)
      if (!written.includes(first) || /[\n\\]|\$\{/.test(written)) return undefined
      const before = text.slice(key.start.offset - key.start.column + 1, key.start.offset)
      const between = /^[\s-]*$/.test(before) ? `\n${' '.repeat(before.length)}` : ', '
      return { range, text: `${first}${between}args: ${list}` }
    },
  }
}

/** Shells execute names such as `BASH_FUNC_id%%` as code. */
export function checkVariables({ env }: McpServer, report: Reporter) {
  for (const name of Object.keys(env))
    if (!isIdentifier(name))
      report({
        code: 'invalid-value',
        path: ['env', name],
        isKey: true,
        message: `${quote(name)} is no name of an environment variable`,
        hint: 'Write letters, digits and `_`, and no digit first',
      })
}

/** `command` is started without a shell. */
export function checkCommand(server: McpServer, report: Reporter, { isRepaired, path }: Context) {
  const { type, command = '', args, env } = server
  if (!TRANSPORTS[type].startsProcess || isRepaired([...path, 'type'])) return
  if (COMMAND_LINE.test(command)) report(commandLine(command, args, path))
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
