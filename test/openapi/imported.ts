import assert from 'node:assert/strict'
import { check } from '../../src/build/check-configurations.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'
import { applyIgnores, checkOf } from '../../src/findings/index.ts'
import type { JsonObject } from '../../src/json/index.ts'
import { HttpClient } from '../../src/net/index.ts'
import { type Imported, type ImportOptions, importOpenApi } from '../../src/openapi/index.ts'
import { compileTools } from '../../src/tools/index.ts'

/** A document of OpenAPI 3.0 with these paths. */
export function document(paths: object, more: object = {}): object {
  return {
    openapi: '3.0.3',
    info: { title: 'Shop', version: '1' },
    servers: [{ url: 'https://api.example.com/v1' }],
    paths,
    ...more,
  }
}

/** A document with one operation, `op`. */
export function operation(
  parts: object,
  { method = 'get', path = '/things', ...more } = {} as Record<string, unknown>,
) {
  const own = { operationId: 'op', summary: 'Does something', responses: {}, ...parts }
  return document({ [path as string]: { [method as string]: own } }, more)
}

export function imported(given: object | string, options: ImportOptions = {}): Imported {
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  const made = importOpenApi({ file: 'shop.json', text }, options)
  assert.ok(made.fault === undefined && !made.findings, JSON.stringify(made))
  return made
}

/** What only the document can change: words that are missing, or do not tell its operations apart. */
const ITS_WORDS: readonly string[] = ['hard-to-find', 'indistinct-tools', 'missing-description', 'env-empty']

/** What else `plantgw validate` finds in the configurations. */
export async function findings({ configurations }: Imported): Promise<string[]> {
  const all: string[] = []
  for (const { text } of configurations) {
    const options = { env: {}, practice: {}, stdin: () => Buffer.from(text) }
    const checked = await check(['-'], options)
    const found = applyIgnores(checked.findings, checked.sources, {
      ran: (code) => checkOf(code) !== 'endpoints',
    }).filter(({ code }) => !ITS_WORDS.includes(code))
    all.push(
      ...found.map(
        ({ code, severity, message, range }) => `${severity} ${code} ${message} (${range?.start.line})`,
      ),
    )
  }
  return all
}

/** The tools of the only configuration, with what they list and what they would send. */
export async function toolsOf(
  given: object | string,
  options: ImportOptions = {},
  env: Record<string, string> = {},
) {
  return compiled(imported(given, options), env)
}

/** The same of what was imported already. */
export async function compiled(made: Imported, env: Record<string, string> = {}) {
  assert.deepEqual(await findings(made), [], made.configurations[0]?.text)
  assert.equal(made.configurations.length, 1, JSON.stringify(made.skipped))
  const [{ text, prefix }] = made.configurations as [Imported['configurations'][0]]
  const { configuration } = readConfiguration({ file: '-', text }, env)
  const context = { env, limits: DEFAULT_LIMITS, http: new HttpClient() }
  const { tools, problems } = compileTools(configuration!, configuration!.servers[0]!, context)
  assert.deepEqual(problems, [])
  return {
    ...made,
    text,
    prefix,
    configuration: configuration!,
    list: tools.list,
    schema: (name = 'op') =>
      tools.get(name)!.definition.inputSchema as JsonObject & { properties: Record<string, JsonObject> },
    /** `GET https://…`, the headers that are not always sent, and the body. */
    async send(args: object = {}, name = 'op') {
      const call = { headers: {}, body: {}, signal: new AbortController().signal }
      const { request, error } = await tools.get(name)!.request(args, call)
      if (!request) return { error }
      const pairs = request.headers.flatMap((key, i) => (i % 2 ? [] : [[key, request.headers[i + 1]]]))
      const own = pairs.filter(([key]) => !['Accept', 'User-Agent'].includes(key!))
      return {
        sent: `${request.method} ${request.origin}${request.path}`,
        headers: Object.fromEntries(own) as Record<string, string>,
        body: request.body === undefined ? undefined : String(request.body),
      }
    },
  }
}
