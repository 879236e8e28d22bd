import type { Command } from 'commander'
import { isObject, type JsonObject, stringify } from '../../json/index.ts'
import { printableJson, printableLines } from '../../text/index.ts'
import { noSuch } from '../options.ts'
import { callArguments } from './call-arguments.ts'
import { answerQuestion } from './call-input.ts'
import { listTools, type TargetFlags, targetCommand, withTarget } from './target.ts'

export function callCommand(exit: (code: number) => void): Command {
  return targetCommand('call', 'Call a tool')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'key=value by the tool’s schema, key:=JSON, key=@file; or one JSON object')
    .addHelpText(
      'after',
      '\nProgress and log messages go to standard error.\nExit code 1: the tool reports an error.',
    )
    .action(async (target: string, tool: string, args: string[], flags: TargetFlags) =>
      exit(await call(target, tool, args, flags)),
    )
}

/** Server questions are answered only on a terminal. */
const interactive = () => process.stdin.isTTY === true && process.stderr.isTTY === true

async function call(to: string, name: string, given: readonly string[], flags: TargetFlags): Promise<number> {
  const ask = (question: JsonObject, signal: AbortSignal) => answerQuestion(question, signal, flags.browser)
  const answer = interactive() ? ask : undefined
  const options = { onNotification: showProgress, answer, wholeList: true }
  const result = await withTarget(to, flags, options, async (client) => {
    const tools = await listTools(client)
    const tool = tools.find((each) => each.name === name)
    // Servers answer calls of tools that they do not list, as a gateway with `discovery` does.
    const args = callArguments(tool?.inputSchema, given)
    return client.callTool(name, args).catch((error: Error) => {
      // Only an error of the server has a cause.
      if (tool || error.cause === undefined) throw error
      const names = tools.map((one) => String(one.name))
      throw new Error(noSuch(`${error.message}; no tool ${name}`, name, names, 'the server has none'))
    })
  })
  process.stdout.write(
    flags.format === 'json' ? `${printableJson(stringify(result))}\n` : contentText(result),
  )
  return result.isError === true ? 1 : 0
}

function showProgress(message: JsonObject): void {
  const line = progressText(message)
  if (line) process.stderr.write(`${line}\n`)
}

/** A tool's result for people: its texts unchanged, and a line for other content. Ends with a line break. */
function contentText(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : []
  const lines = content.flatMap((block) => (isObject(block) ? [blockText(block)] : []))
  if (lines.length === 0 && result.structuredContent !== undefined)
    lines.push(stringify(result.structuredContent))
  return lines.length ? `${lines.join('\n')}\n` : ''
}

function blockText(block: JsonObject): string {
  const { type } = block
  if (type === 'text') return printableLines(String(block.text))
  if (type === 'resource_link') return `[resource ${printableLines(String(block.uri))}]`
  if (type === 'resource' && isObject(block.resource)) {
    const { uri, text, blob, mimeType } = block.resource
    if (typeof text === 'string') return `[resource ${printableLines(String(uri))}]\n${printableLines(text)}`
    return `[resource ${printableLines(String(uri))}: ${sizeOf(blob)}${mimeType ? `, ${printableLines(String(mimeType))}` : ''}]`
  }
  if (type === 'image' || type === 'audio')
    return `[${type}: ${sizeOf(block.data)}, ${printableLines(String(block.mimeType))}; see --json]`
  return printableLines(stringify(block))
}

function sizeOf(base64: unknown): string {
  return `${Buffer.from(String(base64), 'base64').length} bytes`
}

/** A notification before the answer as a line; undefined if irrelevant to people. */
function progressText({ method, params }: JsonObject): string | undefined {
  if (!isObject(params)) return undefined
  if (method === 'notifications/progress') {
    const { progress, total, message } = params
    const part = total === undefined ? `${String(progress)}` : `${String(progress)}/${String(total)}`
    return `[${part}]${typeof message === 'string' ? ` ${printableLines(message)}` : ''}`
  }
  if (method === 'notifications/message') {
    const { level, data } = params
    return `${String(level)}: ${printableLines(typeof data === 'string' ? data : stringify(data ?? null))}`
  }
  return undefined
}
