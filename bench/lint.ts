import { parseDocument } from 'yaml'
import type * as Checks from '../src/checks/index.ts'
import type * as Lint from '../src/checks/templates/index.ts'
import { spread } from './process.ts'

/** Linting 1,000 configurations of 10 tools beside parsing their YAML, in rounds that take turns. */
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const CONFIGURATIONS = 1000
const TOOLS = 10

function tool(i: number, j: number): string {
  return `  - name: tool_${j}
    description: Tool ${j} of service ${i}, which stores an entry
    method: POST
    endpoint: "{{.Config.base}}/entries/{{.Args.id}}/items"
    headers:
      Content-Type: application/json
      Authorization: "Bearer {{.Config.key}}"
      X-Trace-Id: '{{index .Request.Headers "X-Trace-Id"}}'
    args:
      - {name: id, position: path, type: string, required: true, description: Identifier of the entry}
      - {name: title, position: body, type: string, required: true, description: Title of the entry}
      - {name: count, position: body, type: integer, default: "1", description: How many there are}
      - name: tags
        position: body
        type: array
        description: Words to find it by
        items: {type: string}
    requestBody: |-
      {
        "title": "{{.Args.title}}",
        "count": {{.Args.count}},
        "tags": {{if .Args.tags}}{{toJSON .Args.tags}}{{else}}[]{{end}}
      }
    responseBody: |-
      Entry {{.Response.Data.id}}: {{.Response.Data.title}}
      {{- range .Response.Data.items}}
      - {{.name}}, {{.count}}
      {{- end}}
`
}

/** A sound configuration of 10 tools, with a name and a prefix of its own. */
export function configuration(i: number): string {
  const tools = Array.from({ length: TOOLS }, (_, j) => tool(i, j)).join('')
  return `name: service-${i}
routers:
  - {server: service-${i}, prefix: /service-${i}}
servers:
  - name: service-${i}
    config: {base: "https://api-${i}.example.com", key: abc}
tools:
${tools}`
}

function milliseconds(work: () => void): number {
  const begin = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1000
}

/** The built modules: tsx would add work of its own to every closure. */
async function built(): Promise<typeof Checks & typeof Lint> {
  const [checks, templates] = ['checks', 'checks/templates'].map(
    (room) => new URL(`../dist/${room}/index.js`, import.meta.url).href,
  )
  return { ...(await import(checks as string)), ...(await import(templates as string)) }
}

export async function lintBench(): Promise<string> {
  const { readConfiguration, lintTemplates } = await built()
  const texts = Array.from({ length: CONFIGURATIONS }, (_, i) => configuration(i))
  const parsing: number[] = []
  const linting: number[] = []
  const reading: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    parsing.push(milliseconds(() => texts.forEach((text) => void parseDocument(text))))
    const reads: ReturnType<typeof readConfiguration>[] = []
    reading.push(
      milliseconds(() => {
        for (const text of texts) reads.push(readConfiguration({ file: 'a.yaml', text }, {}))
      }),
    )
    let findings = 0
    linting.push(
      milliseconds(() => {
        for (const read of reads) findings += lintTemplates(read, {}).length
      }),
    )
    if (findings > 0 || reads.some((read) => read.findings.length > 0))
      throw new Error('the input is not sound')
  }
  const ratio = (values: readonly number[]) => spread(values.map((value, i) => value / parsing[i]!))
  const row = (name: string, values: readonly number[]) =>
    `| ${name} | ${spread(values)} | ${ratio(values)} |`
  return [
    `Linting ${CONFIGURATIONS} configurations of ${TOOLS} tools, ${ROUNDS} rounds, median (least…most):`,
    '',
    '| work | CPU, ms | to parsing |',
    '|---|---|---|',
    row('parsing the YAML', parsing),
    row('reading, with schema and rules', reading),
    row('linting the templates', linting),
    row(
      'reading and linting',
      reading.map((value, i) => value + linting[i]!),
    ),
  ].join('\n')
}
