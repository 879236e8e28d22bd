import { Command } from 'commander'
import { printableJson } from '../../findings/frame.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import { nearest } from '../../text/index.ts'
import { addHeader } from '../header.ts'
import { callArguments } from './call-arguments.ts'
import { answerQuestion } from './call-input.ts'
import { contentText, progressText } from './call-text.ts'
import { listTools, type TargetFlags, withTarget } from './target.ts'

interface CallFlags extends TargetFlags {
  json?: boolean
}

export function callCommand(exit: (code: number) => void): Command {
  return new Command('call')
    .description('Call a tool of an MCP server, given as a prefix of the gateway or any URL.')
    .argument('<url|prefix>', 'for example /garden or https://example.com/mcp')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'key=value by the tool’s schema, key:=JSON, key=@file')
    .option('-s, --settings <file>', "settings file that gives the gateway's host and port")
    .option('--header <name:value>', 'header to send; may be repeated', addHeader, {})
    .option('--json', 'print the result of the server as JSON')
    .addHelpText(
      'after',
      '\nProgress and log messages go to standard error. Exit code 1: the tool reports an error.',
    )
    .action(async (target: string, tool: string, args: string[], flags: CallFlags) =>
      exit(await call(target, tool, args, flags)),
    )
}

/** Questions of the server are answered on a terminal only. */
const interactive = () => process.stdin.isTTY === true && process.stderr.isTTY === true

async function call(to: string, name: string, given: readonly string[], flags: CallFlags): Promise<number> {
  const answer = interactive() ? answerQuestion : undefined
  const result = await withTarget(
    to,
    flags,
    { onNotification: showProgress, answer },
    async (client, signal) => {
      const tools = await listTools(client)
      if (signal.aborted) return undefined
      const tool = tools.find((each) => each.name === name)
      if (!tool) throw new Error(unknownTool(name, tools))
      return client.callTool(name, callArguments(tool.inputSchema, given))
    },
  )
  if (!result) {
    process.stderr.write('cancelled\n')
    return 2
  }
  process.stdout.write(flags.json ? `${printableJson(stringify(result))}\n` : contentText(result))
  return result.isError === true ? 1 : 0
}

function showProgress(message: JsonObject): void {
  const line = progressText(message)
  if (line) process.stderr.write(`${line}\n`)
}

function unknownTool(name: string, tools: readonly JsonObject[]): string {
  const names = tools.map((tool) => String(tool.name))
  const close = nearest(name, names)
  if (close) return `no tool ${name}: did you mean ${close}?`
  return `no tool ${name}: ${names.length ? `there are ${names.join(', ')}` : 'the server has none'}`
}
