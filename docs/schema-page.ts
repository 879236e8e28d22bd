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
  default?: unknown
  $ref?: string
  $defs?: Record<string, Schema>
  examples?: unknown[]
}

/** Begins the reference of a kind of file with what most readers need. */
const STARTS: Readonly<Record<string, string>> = {
  configuration: `A configuration describes one service. Most files need only these keys:

\`\`\`yaml
name: shop
routers:
  - { server: shop, prefix: /shop } # serves http://127.0.0.1:5235/shop/mcp
servers:
  - name: shop
    credentials: { type: static, value: "Bearer \${SHOP_TOKEN}" }
tools:
  - name: get_order
    description: Gets an order
    endpoint: "https://api.example.com/orders/{{.Args.id}}"
    args:
      - { name: id, position: path, type: integer, required: true, description: Number of the order }
\`\`\`

They are described under [Router](#router), [Server](#server), [Tool](#tool) and [Argument](#argument). An MCP server takes the
place of \`servers\` and \`tools\`: [MCP server](#mcp-server). [Concepts](concepts.md) shows how the parts belong together.`,
  settings: `The settings describe the process of the gateway, in a file \`plantgw.yaml\`. All keys are optional. A gateway that other
machines reach needs little more than this:

\`\`\`yaml
storage: { type: directory, path: configs }
host: 0.0.0.0 # then every router needs \`auth\`
port: 5235
publicUrl: https://tools.example.com
pid: plantgw.pid # for \`plantgw reload\`
watch: true # applies changes of configuration files
admin: { listen: "127.0.0.1:5236" } # /_status, /metrics
\`\`\`

Options of the command line take precedence over \`PLANTGW_…\` environment variables, and these over the file. Routers, servers and
tools belong in [configurations](configuration.md).`,
}

/** The reference of one kind of file: a table for each object of its schema. */
export function schemaPage(root: Schema, name: string): string {
  const objects: Schema[] = []
  collect(root, root, objects)
  const tables = objects.map((schema) => table(schema, root, schema === root))
  return `# ${root.title}

${STARTS[name] ?? root.description}

Values may contain \`\${NAME}\` and \`\${NAME:default}\`, which are replaced by environment variables, and \`\${file:/path}\`, which is
replaced by the content of a file ([Logins and secrets](guides/secrets.md#where-secrets-come-from)). Write \`$\${\` for a literal
\`\${\`. Keys that begin with \`x-\` are ignored, and so is \`$schema\` at the top, which editors read; any other unknown key is
an error.

For completion and checks in an editor, begin the file with \`# yaml-language-server: $schema=…/schemas/${name}.schema.json\`.
(\`npm run docs\` generates this page from that schema; do not edit the page.)

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
    const field = { ...resolve(member, root), ...member }
    const cells = [`\`${key}\`<br>${typeOf(member, root)}`, meaningOf(field, required.includes(key))]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  const intro = top || !description ? '' : `${description}\n\n`
  return `## ${title}

${intro}| key | meaning |
| --- | --- |
${rows.join('\n')}
`
}

/** Two columns fit on every screen, so the default and the example follow the meaning. */
function meaningOf({ default: fallback, description = '', examples }: Schema, isRequired: boolean) {
  const meaning = [
    isRequired ? '**Required.**' : '',
    description,
    fallback === undefined || isEmpty(fallback) ? '' : `Default: ${code(fallback)}.`,
  ]
  const example = examples?.find((one) => one !== fallback)
  return `${meaning.filter(Boolean).join(' ')}${example === undefined ? '' : `<br>Example: ${code(example)}`}`
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && Object.keys(value ?? {}).length === 0
}

function typeOf(schema: Schema, root: Schema): string {
  const target = resolve(schema, root)
  const { anyOf, items, additionalProperties, properties, title, type } = target
  if (properties) return `[${title}](#${title!.toLowerCase().replaceAll(' ', '-')})`
  if (anyOf?.[1]?.$ref === '#/$defs/env') return typeOf(anyOf[0]!, root)
  if (target.enum) return target.enum.map((value) => `\`${value}\``).join(', ')
  if (type === 'array') return `array of ${typeof items === 'object' ? typeOf(items, root) : 'any value'}`
  if (type === 'object') {
    return typeof additionalProperties === 'object'
      ? `object of ${typeOf(additionalProperties, root)}`
      : 'object'
  }
  if (type === undefined) return 'any value'
  return Array.isArray(type) ? type.join(', ').replace(/, (?=[^,]*$)/, ' or ') : NAMES[type]!
}

const NAMES: Record<string, string> = {
  string: 'string',
  number: 'number',
  integer: 'integer',
  boolean: '`true`, `false`',
}

/** A value as YAML on one line. */
function code(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '`""`' : `\`${value.replaceAll('\n', ' ')}\``
  return `\`${JSON.stringify(value)}\``
}
