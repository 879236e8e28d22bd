import { parseDuration, parseSize, type SchemaNode } from '../src/config/index.ts'

/**
 * The TypeScript of what files come to once they are read: an interface for each object of the schemas, with what
 * has a default no longer optional, durations in milliseconds and sizes in bytes.
 */
export function typesModule(schemas: readonly SchemaNode[]): string {
  const written = new Map<string, string>()
  for (const root of schemas) interfaceOf(root, root, nameOf(root), written)
  return `// Made by \`npm run docs\` from the schemas of \`schemas/\`; do not edit.
import type { JsonObject, Json } from '../json/index.ts'

${[...written.values()].join('\n')}
${defaultsOf(schemas.at(-1)!.$defs!.ProcessLimits!)}`
}

function interfaceOf(schema: SchemaNode, root: SchemaNode, name: string, written: Map<string, string>) {
  if (written.has(name)) return
  written.set(name, '')
  const { properties = {}, required = [], description } = schema
  const fields = Object.entries(properties).map(([key, member]) => {
    const target = { ...targetOf(member, root)[1], ...member }
    const given = required.includes(key) || target.default !== undefined || target['x-model'] === 'derived'
    const type = typeOf(member, root, written)
    return `${comment(wordsOf(target), '  ')}  ${key}${given ? '' : '?'}: ${type}\n`
  })
  written.set(
    name,
    `${comment([firstSentence(description)], '')}export interface ${name} {\n${fields.join('')}}\n`,
  )
}

/** The schema that is meant, and its name where it is a definition. */
function targetOf(schema: SchemaNode, root: SchemaNode): [string | undefined, SchemaNode] {
  const { $ref, anyOf, ...rest } = schema
  if ($ref) {
    const name = $ref.replace('#/$defs/', '')
    return [name, root.$defs![name]!]
  }
  // What editors are offered beside it: an environment variable.
  if (anyOf?.[1]?.$ref === '#/$defs/env') return [undefined, { ...anyOf[0], ...rest }]
  return [undefined, schema]
}

function typeOf(
  schema: SchemaNode | boolean | undefined,
  root: SchemaNode,
  written: Map<string, string>,
): string {
  if (typeof schema !== 'object') return 'Json'
  const [definition, target] = targetOf(schema, root)
  const { additionalProperties, enum: allowed, items, properties, type, 'x-model': model } = target
  if (model === 'json') return 'JsonObject'
  if (model === 'duration' || model === 'size') return 'number'
  if (properties) {
    const name = definition ?? nameOf(target)
    interfaceOf(target, root, name, written)
    return model === 'partial' ? `Partial<${name}>` : name
  }
  if (allowed) return allowed.map((value) => `'${value}'`).join(' | ')
  const list = () => {
    const item = typeOf(items, root, written)
    return item.includes(' ') ? `(${item})[]` : `${item}[]`
  }
  if (type === 'array') return list()
  if (type === 'object')
    return typeof additionalProperties === 'object'
      ? `Record<string, ${typeOf(additionalProperties, root, written)}>`
      : 'JsonObject'
  if (Array.isArray(type)) return type.includes('array') ? `string | ${list()}` : 'string'
  return { string: 'string', boolean: 'boolean', integer: 'number', number: 'number' }[type ?? ''] ?? 'Json'
}

function wordsOf({ default: fallback, description, 'x-model': model }: SchemaNode): (string | undefined)[] {
  const unit = model === 'duration' ? 'Milliseconds.' : model === 'size' ? 'Bytes.' : undefined
  const isPlain = fallback !== undefined && typeof fallback !== 'object'
  return [firstSentence(description), unit, isPlain ? `Default \`${fallback}\`.` : undefined]
}

/** `Prompt argument` → `PromptArgument`. */
function nameOf({ title = '' }: SchemaNode): string {
  return title.replace(
    /(?:^| )(.)(\S*)/g,
    (_, first: string, rest: string) => first.toUpperCase() + rest.toLowerCase(),
  )
}

function firstSentence(text = ''): string {
  return text.split(/(?<=\.)\s/, 1)[0]!
}

/** A doc comment on one line: the pages of reference say more. */
function comment(words: readonly (string | undefined)[], indent: string): string {
  const text = words.filter(Boolean).join(' ')
  return text === '' ? '' : `${indent}/** ${text} */\n`
}

function defaultsOf({ properties = {} }: SchemaNode): string {
  const values = Object.entries(properties).flatMap(([key, { default: value, 'x-model': model }]) => {
    if (value === undefined) return []
    const parsed =
      model === 'duration' ? parseDuration(String(value)) : model ? parseSize(String(value)) : value
    return `  ${key}: ${parsed},\n`
  })
  return `/** What the settings come to when they say nothing of \`limits\`. */
export const DEFAULT_LIMITS: ProcessLimits = {\n${values.join('')}}\n`
}
