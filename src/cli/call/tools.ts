import type { Command } from 'commander'
import { palette } from '../../findings/index.ts'
import { isObject, type JsonObject, stringify } from '../../json/index.ts'
import { printableJson, printableLines } from '../../text/index.ts'
import { columns, wantsColor } from '../output.ts'
import { listTools, type TargetFlags, targetCommand, withTarget } from './target.ts'

export function toolsCommand(exit: (code: number) => void): Command {
  return targetCommand('tools', 'List the tools').action(async (target: string, flags: TargetFlags) =>
    exit(await tools(target, flags)),
  )
}

async function tools(target: string, flags: TargetFlags): Promise<number> {
  const listed = await withTarget(target, flags, { onNotification() {}, answer: undefined }, listTools)
  const { bold } = palette(wantsColor(process.stdout))
  if (flags.format === 'json') process.stdout.write(`${printableJson(stringify(listed))}\n`)
  else if (listed.length === 0) process.stdout.write('no tools\n')
  else process.stdout.write(`${listed.map((tool) => describe(tool, bold)).join('\n\n')}\n`)
  return 0
}

/** A tool with a line for each argument; required ones have a star. */
function describe(tool: JsonObject, bold: (text: string) => string): string {
  const schema = isObject(tool.inputSchema) ? tool.inputSchema : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const args = Object.entries(isObject(schema.properties) ? schema.properties : {}).map(
    ([name, property]) => {
      const { type, description, enum: values } = isObject(property) ? property : ({} as JsonObject)
      const kind = Array.isArray(values)
        ? values.map((value) => stringify(value)).join(' | ')
        : typeName(type)
      return [`${name}${required.has(name) ? '*' : ''}`, kind, oneLine(description)]
    },
  )
  const rows = columns(args, [30, 30]).map((row) => `    ${row}`)
  const about = oneLine(tool.description)
  return [bold(printableLines(String(tool.name))), ...(about ? [`  ${about}`] : []), ...rows].join('\n')
}

function typeName(type: unknown): string {
  return typeof type === 'string' ? type : Array.isArray(type) ? type.join(' | ') : 'any'
}

function oneLine(text: unknown): string {
  return typeof text === 'string' ? printableLines(text.replace(/\s+/g, ' ').trim()) : ''
}
