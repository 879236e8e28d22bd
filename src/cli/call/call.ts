import { Command } from 'commander'
import { printableJson } from '../../findings/frame.ts'
import { isObject, type Json, type JsonObject, stringify } from '../../json/index.ts'
import { nearest } from '../../text/index.ts'
import { addHeader } from '../header.ts'
import { callArguments } from './call-arguments.ts'
import { answerInput } from './call-input.ts'
import { contentText, progressText } from './call-text.ts'
import { listTools, type Target, type TargetFlags, withTarget } from './target.ts'

interface CallFlags extends TargetFlags {
  json?: boolean
}

export function callCommand(exit: (code: number) => void): Command {
  return new Command('call')
    .description('Call a tool of an MCP server: of a prefix of the gateway, or of any URL.')
    .argument('<url|prefix>', 'such as /garden, or https://example.com/mcp')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'key=value by the tool’s schema, key:=JSON, key=@file')
    .option('-s, --settings <file>', "settings file that gives the gateway's host and port")
    .option('--header <name:value>', 'a header to send; may be repeated', addHeader, {})
    .option('--json', 'the result as the server gave it, in JSON')
    .addHelpText(
      'after',
      '\nProgress and log messages go to standard error. Exit code 1: the tool says that it failed.',
    )
    .action(async (target: string, tool: string, args: string[], flags: CallFlags) =>
      exit(await call(target, tool, args, flags)),
    )
}

/** Questions of the server are answered on a terminal only. */
const interactive = () => process.stdin.isTTY === true && process.stderr.isTTY === true

async function call(to: string, name: string, given: readonly string[], flags: CallFlags): Promise<number> {
  const capabilities: JsonObject = interactive() ? { elicitation: { form: {}, url: {} } } : {}
  const result = await withTarget(to, flags, capabilities, async (target) => {
    const tools = await listTools(target)
    if (target.signal.aborted) return undefined
    const tool = tools.find((each) => each.name === name)
    if (!tool) throw new Error(unknownTool(name, tools))
    const result = await callTool(target, name, callArguments(tool.inputSchema, given))
    return result && flags.json ? target.asGiven(result) : result
  })
  if (!result) {
    process.stderr.write('cancelled\n')
    return 2
  }
  process.stdout.write(flags.json ? `${printableJson(stringify(result))}\n` : contentText(result))
  return result.isError === true ? 1 : 0
}

/** Calls a tool, answering what the server asks meanwhile (2026-07-28, Multi Round-Trip Requests). */
async function callTool(target: Target, name: string, args: JsonObject): Promise<JsonObject | undefined> {
  const params = { name, arguments: args, _meta: { progressToken: 'call' } }
  let more: JsonObject = {}
  for (;;) {
    const result = await target.ask('tools/call', { ...params, ...more }, showProgress)
    if (result?.resultType !== 'input_required') return result
    const requests = isObject(result.inputRequests) ? result.inputRequests : {}
    const inputResponses: JsonObject = {}
    for (const [key, request] of Object.entries(requests))
      inputResponses[key] = (await answerInput(request, target.signal)) as Json
    if (target.signal.aborted) return undefined
    const { requestState } = result
    more = { inputResponses, ...(requestState !== undefined && { requestState }) }
  }
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
