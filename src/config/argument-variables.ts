import { type Finding, finding } from '../findings/index.ts'
import { isObject, type Json } from '../json/index.ts'
import { quote } from '../text/index.ts'
import type { Source } from './model.ts'
import type { Nodes } from './yaml/places.ts'

/** Keys whose items are the arguments of a tool, or are most likely meant to be. */
const ARGUMENT_LISTS = ['args', 'params', 'parameters', 'arguments']

/** An argument, with or without a prefix such as `args.`, as in other formats. */
const VARIABLE = /^\$\{\s*(?:\.?(?:args|arguments|params|parameters)\.)?([\w-]+)\s*\}$/i

/** Adds a hint to findings of unset variables that are named like an argument of the tool: `${id}` is `{{.Args.id}}`. */
export function withArgumentCures(
  findings: readonly Finding[],
  value: Json,
  nodes: Nodes,
  source: Source,
): Finding[] {
  const tools = isObject(value) && Array.isArray(value.tools) ? value.tools : []
  return findings.map((found) => {
    const { code, range } = found
    if ((code !== 'env-unset' && code !== 'env-syntax') || !range) return found
    const [start, end] = [range.start.offset, range.end.offset]
    const name = variableName(source.text.slice(start, end))
    if (name === undefined) return found
    const i = tools.findIndex((_, index) => {
      const tool = nodes.at(['tools', index])
      return tool !== undefined && tool.start <= start && end <= tool.end
    })
    if (!argumentNames(tools[i]).includes(name)) return found
    const action = `{{.Args.${name}}}`
    const hint = `Write \`${action}\`: \`\${…}\` is a variable of the environment, and ${quote(name)} an argument`
    // A plain scalar that begins with a brace would be a map.
    const quoted = /["'][^"'\n]*$/.test(source.text.slice(source.text.lastIndexOf('\n', start) + 1, start))
    const fix = quoted ? { range, text: action } : undefined
    return finding('env-unset', found.file, messageOf(found, name), { range, hint, fix })
  })
}

/** An unsupported form is not an unset variable. */
function messageOf({ code, message }: Finding, name: string): string {
  return code === 'env-syntax' ? `the argument ${name} is written as a variable of the environment` : message
}

/** The name in a variable, also if written as an argument: `id` of `${args.id}`. */
export function variableName(written: string): string | undefined {
  return VARIABLE.exec(written)?.[1]
}

function argumentNames(tool: Json | undefined): string[] {
  if (!isObject(tool)) return []
  const listed = ARGUMENT_LISTS.flatMap((key) => (Array.isArray(tool[key]) ? tool[key] : []))
  const names = listed.flatMap((one) => (isObject(one) && typeof one.name === 'string' ? [one.name] : []))
  const { properties } = isObject(tool.inputSchema) ? tool.inputSchema : {}
  return [...names, ...(isObject(properties) ? Object.keys(properties) : [])]
}
