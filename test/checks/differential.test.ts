import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readConfiguration } from '../../src/checks/index.ts'
import { jsonFault } from '../../src/checks/json-fault.ts'
import { sampleArgs } from '../../src/checks/samples.ts'
import { toolSubjects } from '../../src/checks/subjects.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { type Configuration, DEFAULT_LIMITS, type Env } from '../../src/config/index.ts'
import { type Finding, formatText } from '../../src/findings/index.ts'
import type { JsonObject } from '../../src/json/index.ts'
import { HttpClient } from '../../src/net/index.ts'
import { type CallContext, compileTools } from '../../src/tools/index.ts'
import { sample } from '../support/rest.ts'

/**
 * What the linter says before a call is held against what the tools do in one: without an error every request
 * can be made from sample arguments, and is sound; with an undeclared argument it lacks a value.
 */
const env: Env = { SET: 'set' }
const http = new HttpClient()
const call: CallContext = {
  headers: { authorization: 'x', accept: 'x', 'x-trace-id': 'x', tenant: 'x' },
  body: null,
  signal: new AbortController().signal,
}

interface Verdict {
  tool: string
  findings: Finding[]
  /** Of all arguments, then of only those that every call has. */
  requests: { error?: string; url?: string; body?: string }[]
}

function verdicts(text: string): Promise<Verdict[]> {
  const read = readConfiguration({ file: 'a.yaml', text }, env)
  assert.ok(read.configuration, JSON.stringify(read.findings))
  const { configuration } = read
  const findings = lintTemplates(read, env)
  const lines = configuration.tools.map((_, i) => read.locate(['tools', i])!)
  const all = configuration.tools.map(async (tool, i) => ({
    tool: tool.name,
    findings: findings.filter(
      ({ range }) => within(range, lines[i]) || !lines.some((one) => within(range, one)),
    ),
    requests: await Promise.all([true, false].map((all) => request(configuration, i, all))),
  }))
  return Promise.all(all)
}

function within(range: Finding['range'], outer: Finding['range']): boolean {
  return (
    range !== undefined &&
    outer !== undefined &&
    outer.start.offset <= range.start.offset &&
    range.end.offset <= outer.end.offset
  )
}

async function request(
  configuration: Configuration,
  i: number,
  all: boolean,
): Promise<Verdict['requests'][number]> {
  const tool = configuration.tools[i]!
  const { servers } = configuration
  const index = servers.findIndex(({ allowedTools }) => allowedTools?.includes(tool.name) ?? true)
  const server = { ...servers[index]!, allowedTools: [tool.name] }
  const only = { ...configuration, servers: servers.with(index, server) }
  const { tools, problems } = compileTools(only, server, { env, limits: DEFAULT_LIMITS, http })
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) return { error: errors.map(({ message }) => message).join('; ') }
  const args: JsonObject = sampleArgs(toolSubjects(configuration, tool, i).args, all)
  const plan = await tools.get(tool.name)!.request(args, call)
  if (!plan.request) return { error: plan.error }
  const { origin, path, body } = plan.request
  return { url: origin + path, ...(typeof body === 'string' && { body }) }
}

const isJson = (tool: string) => !['text', 'form', 'lines', 'document'].includes(tool)

/** @param anyContent without an error the request can be made, whatever the samples hold */
function agree({ tool, findings, requests }: Verdict, anyContent = true): void {
  const errors = findings.filter(({ severity }) => severity === 'error')
  const shown = formatText(findings, new Map(), { color: false })
  if (errors.length > 0) return
  const [full, least] = requests as [Verdict['requests'][number], Verdict['requests'][number]]
  if (anyContent)
    assert.equal(full.error, undefined, `${tool}: no error was told, but ${full.error}\n${shown}`)
  if (anyContent && least.error !== undefined)
    assert.ok(
      findings.some(({ code }) => code === 'template-render'),
      `${tool}: untold: ${least.error}\n${shown}`,
    )
  for (const { body } of requests)
    if (body !== undefined && isJson(tool))
      assert.equal(jsonFault(body), undefined, `${tool}: ${body}\n${shown}`)
}

/** Errors that are sure to show when a call is made, or before. */
const FATAL = new Set<Finding['code']>([
  'template-syntax',
  'template-context',
  'template-function',
  'template-operator',
  'template-hyphen',
  'template-block',
  'template-host',
  'template-body',
  'env-unset',
])

function disagree({ tool, findings, requests }: Verdict, answers: (finding: Finding) => boolean): void {
  const shows = ({ code, message }: Finding) =>
    FATAL.has(code) &&
    (code !== 'template-body' || /^(?:the body|with sample arguments|with no optional)/.test(message))
  const fatal = findings.find((one) => shows(one) && !answers(one))
  if (!fatal) return
  const failed = requests.some(
    ({ error, body }) => error !== undefined || (body !== undefined && jsonFault(body) !== undefined),
  )
  assert.ok(
    failed,
    `${tool}: ${fatal.code} was told, but every request can be made: ${JSON.stringify(requests)}`,
  )
}

describe('golden files', () => {
  const folder = new URL('./golden/', import.meta.url)
  for (const name of readdirSync(folder).sort()) {
    test(name, async () => {
      const [input] = readFileSync(new URL(name, folder), 'utf8').split('# ---- expected\n') as [string]
      for (const verdict of await verdicts(input)) {
        agree(verdict, name !== 'content.golden.yaml')
        // What MCP servers and prompts say is not a tool's, answers are made after the request, and `raw` is the author's will.
        const lines = input.split('\n')
        const others = lines.findIndex((line) => /^(prompts|mcpServers):/.test(line))
        disagree(verdict, ({ range }) => {
          const { line } = range!.start
          return (others >= 0 && line > others) || /^ *responseBody:|raw/.test(lines[line - 1]!)
        })
      }
    })
  }
})

/** Pieces of templates, sound and unsound, that a generator puts together. */
const value = fc.constantFrom(
  '"{{.Args.s}}"',
  '{{.Args.n}}',
  '{{toJSON .Args.o}}',
  '{{.Args.l}}',
  '{{.Args.opt}}',
  '"{{.Args.nope}}"',
  '{{.Arg.s}}',
  '{{if .Args.opt}}1{{else}}2{{end}}',
  '{{if .Args.opt}}1{{end}}',
  '{{if .Args.n == 1}}1{{else}}2{{end}}',
  '[{{range .Args.l}}"{{.}}",{{end}} null]',
  '[{{range .Args.l}}"{{.}}",{{end}}]',
  '"{{.Request.Headers.Authorization}}"',
  '"{{.Config.base}}"',
  '"{{.Config.bse}}"',
  '{{.Args.o.city}}',
  "'{{.Args.s}}'",
  '{{len .Args.n}}',
  '{{len .Args.l}}',
  '{{.Response.Data.x}}',
  '{{with .Args.o}}"{{.city}}"{{else}}null{{end}}',
  '{{toJSN .Args.o}}',
  '"{{index .Args.l 0}}"',
  '{{args.s}}',
  '1',
)
const separator = fc.constantFrom(', ', ', ', ', ', ' ', ',,')
const body = fc.array(fc.tuple(value, separator), { minLength: 1, maxLength: 4 }).map((members) => {
  const text = members.map(([one, end], i) => `"k${i}": ${one}${i < members.length - 1 ? end : ''}`)
  return `{${text.join('')}}`
})
const segment = fc.constantFrom(
  '/a',
  '/{{.Args.s}}',
  '/{{.Args.opt}}',
  '/{{.Args.nope}}',
  '/{{.Config.key}}',
  '/{{.Args.n}}',
)
const endpoint = fc
  .tuple(
    fc.constantFrom('http://localhost', '{{.Config.base}}', 'http://{{.Args.s}}'),
    fc.array(segment, { maxLength: 3 }),
  )
  .map(([base, segments]) => base + segments.join(''))

function configuration(url: string, text: string): string {
  return `name: user
servers: [{name: user, config: {base: "http://localhost", key: abc}}]
tools:
  - name: a
    method: POST
    endpoint: ${JSON.stringify(url)}
    args:
      - {name: s, position: body, required: true}
      - {name: n, position: body, type: integer, required: true}
      - {name: l, position: body, type: array, required: true, items: {type: string}}
      - {name: o, position: body, type: object, required: true, properties: {city: {type: string}}}
      - {name: opt, position: body, type: integer}
    requestBody: ${JSON.stringify(text)}
`
}

test('generated templates: without an error requests can be made, with one they fail or lack a value', async () => {
  await fc.assert(
    fc.asyncProperty(endpoint, body, async (url, text) => {
      const [verdict] = (await verdicts(configuration(url, text))) as [Verdict]
      agree(verdict)
      disagree(verdict, () => false)
    }),
    { numRuns: sample(400) },
  )
})

test('an undeclared argument renders as a missing value wherever it stands', async () => {
  const text = '{"q": "{{.Args.nope}}", "v": {{.Args.nope}}, "ok": 1}'
  const [inBody] = (await verdicts(configuration('http://localhost', text))) as [Verdict]
  assert.equal(inBody.findings.filter(({ code }) => code === 'template-argument').length, 2)
  assert.equal(inBody.requests[0]!.body, '{"q": "", "v": null, "ok": 1}')
  const [inUrl] = (await verdicts(configuration('http://localhost/{{.Args.nope}}', '{}'))) as [Verdict]
  assert.deepEqual(
    inUrl.findings.filter(({ severity }) => severity === 'error').map(({ code }) => code),
    ['template-argument'],
  )
  assert.match(inUrl.requests[0]!.error ?? '', /missing/)
})
