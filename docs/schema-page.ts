type Schema = Record<string, unknown> & {
  title?: string
  description?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema | boolean
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  enum?: unknown[]
  $ref?: string
  $defs?: Record<string, Schema>
  examples?: unknown[]
}

/** The reference of one kind of file: a table for each object of its schema. */
export function schemaPage(root: Schema, name: string): string {
  const objects: Schema[] = []
  collect(root, root, objects)
  const tables = objects.map((schema) => table(schema, root, schema === root))
  return `# ${root.title}

Made by \`npm run docs\` from \`schemas/${name}.schema.json\`; do not edit. For completion and checks in an editor
begin a file with \`# yaml-language-server: $schema=…/schemas/${name}.schema.json\`.

${root.description}

Values may hold \`\${NAME}\` and \`\${NAME:default}\`, which are replaced by environment variables; \`$\${\` is the text
\`\${\`. Keys that begin with \`x-\` are free; any other unknown key is an error.

${tables.join('\n')}`
}

/** Every object with fields of its own, in the order in which it is met. */
function collect(schema: Schema, root: Schema, found: Schema[]) {
  const target = resolve(schema, root)
  if (target.properties && !found.includes(target)) {
    found.push(target)
    for (const member of Object.values(target.properties)) collect(member, root, found)
  }
  for (const part of [target.items, target.additionalProperties]) {
    if (typeof part === 'object') collect(part, root, found)
  }
}

function resolve(schema: Schema, root: Schema): Schema {
  return schema.$ref ? root.$defs![schema.$ref.replace('#/$defs/', '')]! : schema
}

function table(
  { title, description, properties, required = [] }: Schema,
  root: Schema,
  top: boolean,
): string {
  const rows = Object.entries(properties!).map(([key, member]) => {
    const {
      default: fallback,
      deprecated,
      description: meaning,
      examples,
    } = { ...resolve(member, root), ...member }
    const cells = [
      `\`${key}\``,
      typeOf(member, root),
      required.includes(key) ? 'yes' : '',
      fallback === undefined ? '' : code(fallback),
      `${deprecated ? '*Deprecated.* ' : ''}${meaning ?? ''}`,
      ((examples as unknown[] | undefined) ?? []).slice(0, 1).map(code).join(' '),
    ]
    return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  })
  const intro = top || !description ? '' : `${description}\n\n`
  return `## ${title}

${intro}| field | type | required | default | meaning | example |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

function typeOf(schema: Schema, root: Schema): string {
  const target = resolve(schema, root)
  const { anyOf, items, additionalProperties, properties, title, type } = target
  if (properties) return `[${title}](#${title!.toLowerCase().replaceAll(' ', '-')})`
  if (anyOf?.[1]?.$ref === '#/$defs/env') return typeOf(anyOf[0]!, root)
  if (target.enum) return target.enum.map((value) => `\`${value}\``).join(', ')
  if (type === 'array') return `list of ${typeof items === 'object' ? typeOf(items, root) : 'any value'}`
  if (type === 'object') {
    return typeof additionalProperties === 'object' ? `map to ${typeOf(additionalProperties, root)}` : 'map'
  }
  if (type === undefined) return 'any value'
  return Array.isArray(type) ? (type.includes('boolean') ? 'text' : 'text or number') : NAMES[type]!
}

const NAMES: Record<string, string> = {
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: '`true`, `false`',
}

/** A value as YAML on one line. */
function code(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '`""`' : `\`${value.replaceAll('\n', ' ')}\``
  return `\`${JSON.stringify(value)}\``
}
