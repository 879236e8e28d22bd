// An MCP server on standard input with schemas of each form, and hostile bytes in names, descriptions, answers and standard error.
import { createInterface } from 'node:readline'

/** Markup, an escape sequence, and marks that turn the direction of text. */
const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u001b[31m\u202eabc`
const LINE = 'x'.repeat(10_000_000)
process.stderr.write(`${HOSTILE}${LINE}\nthe last line\n`)

const kind = (name, properties) => ({
  type: 'object',
  properties: { kind: { const: name }, ...properties },
  required: ['kind'],
})
const properties = {
  shape: {
    oneOf: [
      kind('circle', { radius: { type: 'number' } }),
      kind('box', { sides: { type: 'array', items: { type: 'array', items: { type: 'integer' } } } }),
    ],
  },
  either: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'array', items: { type: 'string' } }] },
  maybe: { type: ['boolean', 'null'] },
  color: {
    oneOf: [
      { const: 1, title: 'Red' },
      { const: 2, title: 'Green' },
    ],
  },
  photo: { type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' },
  people: {
    type: 'array',
    items: {
      type: 'object',
      properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
    },
  },
  tree: { $ref: '#/$defs/node' },
}
const node = { type: 'object', properties: { name: { type: 'string' }, child: { $ref: '#/$defs/node' } } }
const TOOLS = [
  {
    name: 'echo',
    description: 'Answers with its arguments',
    inputSchema: { type: 'object', properties, $defs: { node } },
  },
  {
    name: HOSTILE,
    title: HOSTILE,
    description: HOSTILE + LINE,
    inputSchema: {
      type: 'object',
      properties: { [HOSTILE]: { type: 'string', title: HOSTILE, description: HOSTILE, enum: [HOSTILE] } },
    },
  },
  {
    name: 'flood',
    description: 'Reports progress 3,000 times with 10 kB each',
    inputSchema: { type: 'object' },
  },
  { name: 'long', description: 'Answers with 10 MB', inputSchema: { type: 'object' } },
]
const RESULTS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: HOSTILE, version: '1' },
  }),
  'tools/list': () => ({ tools: TOOLS }),
  'prompts/list': () => ({
    prompts: [{ name: HOSTILE, description: HOSTILE, arguments: [{ name: HOSTILE }] }],
  }),
  'resources/list': () => ({ resources: [{ uri: 'note://a', name: HOSTILE, description: HOSTILE }] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'note://{id}', name: HOSTILE }] }),
  'tools/call': ({ name, arguments: given }) => {
    const text = name === 'echo' ? JSON.stringify(given) : name === 'long' ? HOSTILE + LINE : HOSTILE
    return { content: [{ type: 'text', text }] }
  },
}
function flood(progressToken) {
  for (let progress = 1; progress <= 3_000; progress++) {
    const params = { progressToken, progress, message: 'x'.repeat(10_000) }
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n`)
  }
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (params?.name === 'flood') flood(params._meta.progressToken)
  const result = RESULTS[method]?.(params)
  const answer = result ? { result } : { error: { code: -32601, message: HOSTILE } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})
