import { Command } from 'commander'
import { printableJson } from '../../findings/frame.ts'
import { palette } from '../../findings/index.ts'
import { isObject, type JsonObject, stringify } from '../../json/index.ts'
import { addHeader } from '../header.ts'
import { wantsColor } from '../output.ts'
import { listTools, type TargetFlags, withTarget } from './target.ts'

interface ToolsFlags extends TargetFlags {
  json?: boolean
}

export function toolsCommand(exit: (code: number) => void): Command {
  return new Command('tools')
    .description('List the tools of an MCP server, given as a prefix of the gateway or any URL.')
    .argument('<url|prefix>', 'for example /garden or https://example.com/mcp')
    .option('-s, --settings <file>', "settings file that gives the gateway's host and port")
    .option('--header <name:value>', 'header to send; may be repeated', addHeader, {})
    .option('--json', 'print the tools as JSON, as the server describes them')
    .action(async (target: string, flags: ToolsFlags) => exit(await tools(target, flags)))
}

async function tools(target: string, flags: ToolsFlags): Promise<number> {
  const listed = await withTarget(target, flags, { onNotification() {}, answer: undefined }, listTools)
  if (!listed) {
    process.stderr.write('cancelled\n')
    return 2
  }
  const { bold } = palette(wantsColor(process.stdout))
  if (flags.json) process.stdout.write(`${printableJson(stringify(listed))}\n`)
  else if (listed.length === 0) process.stdout.write('no tools\n')
  else process.stdout.write(`${listed.map((tool) => describe(tool, bold)).join('\n\n')}\n`)
  return 0
}

/** A tool with a line for each argument; those that must be given have a star. */
function describe(tool: JsonObject, bold: (text: string) => string): string {
  const schema = isObject(tool.inputSchema) ? tool.inputSchema : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const args = Object.entries(isObject(schema.properties) ? schema.properties : {}).map(
    ([name, property]) => {
      const { type, description, enum: values } = isObject(property) ? property : ({} as JsonObject)
      const kind = Array.isArray(values)
        ? values.map((value) => stringify(value)).join(' | ')
        : typeName(type)
      return [`${name}${required.has(name) ? '*' : ''}`, kind, oneLine(description)] as const
    },
  )
  const widths = [0, 1].map((i) => Math.min(30, Math.max(0, ...args.map((row) => row[i as 0 | 1].length))))
  const rows = args.map(([name, kind, text]) =>
    `    ${name.padEnd(widths[0] as number)}  ${kind.padEnd(widths[1] as number)}  ${text}`.trimEnd(),
  )
  const about = oneLine(tool.description)
  return [bold(printable(String(tool.name))), ...(about ? [`  ${about}`] : []), ...rows].join('\n')
}

function typeName(type: unknown): string {
  return typeof type === 'string' ? type : Array.isArray(type) ? type.join(' | ') : 'any'
}

function oneLine(text: unknown): string {
  return typeof text === 'string' ? printable(text.replace(/\s+/g, ' ').trim()) : ''
}

/** What a server says must not steer the terminal. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '')
}
