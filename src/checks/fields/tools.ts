import {
  type Arg,
  type Configuration,
  hasTemplate,
  METHODS,
  RESULT_TOOL_NAME,
  type Tool,
} from '../../config/index.ts'
import { metaFaults, unsupportedPatterns } from '../../config/json-schema/check-schema.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { type Json, type JsonObject, toDoubles, valueAt } from '../../json/index.ts'
import { READ_RESULT } from '../../json/shaping/index.ts'
import { quote } from '../../text/index.ts'
import { withoutEffect } from '../check.ts'
import { wrongMethod } from './cors.ts'
import { checkResponse, takenName } from './response.ts'
import { checkDuration } from './value-rules.ts'

export function checkMethod({ method }: Tool, report: Reporter) {
  if (!METHODS.includes(method)) report({ path: ['method'], ...wrongMethod(method) })
}

export function checkToolResponse(tool: Tool, report: Reporter) {
  const { name, response, outputSchema } = tool
  if (!response) return
  const isWritten = hasTemplate(tool)
  checkResponse(response, isWritten ? undefined : outputSchema, ['response'], report)
  const other = tool.args.findIndex((arg) => arg.name === 'fields')
  const isDeclared = valueAt(tool.inputSchema, ['properties', 'fields']) !== undefined
  if (response.fields && (other >= 0 || isDeclared))
    report({
      code: 'duplicate-name',
      path: ['response', 'fields'],
      message: `the tool ${quote(name)} has an argument \`fields\` of its own`,
      hint: 'Rename the argument, or remove `fields` of `response`',
    })
  if (response.pages && tool.method !== 'GET')
    report(
      withoutEffect(
        ['response', 'pages'],
        `for the tool ${quote(name)}, whose method is ${tool.method}: further pages are requested with GET only`,
        'Remove it, or write `method: GET`',
      ),
    )
  if (response.format !== 'json' && isWritten)
    report(
      withoutEffect(
        ['response', 'format'],
        `for the tool ${quote(name)}, whose \`responseBody\` writes the text`,
        'Remove one of the two',
      ),
    )
}

export function checkAsync({ async: slow }: Tool, report: Reporter) {
  if (!slow) return
  checkDuration(slow.interval, ['async', 'interval'], report)
  checkDuration(slow.ttl, ['async', 'ttl'], report)
}

/** Names of the tools that the gateway adds. */
export function checkTakenNames({ tools }: Configuration, report: Reporter) {
  const at = tools.findIndex(({ name }) => name === RESULT_TOOL_NAME)
  const slow = tools.find((tool) => tool.async)
  if (at >= 0 && slow)
    report({
      code: 'duplicate-name',
      path: ['tools', at, 'name'],
      message: `the gateway adds a tool ${quote(RESULT_TOOL_NAME)} for the \`async\` of ${quote(slow.name)}`,
      hint: 'Rename the tool',
    })
  if (tools.some(({ response }) => response?.more))
    for (const [i, { name }] of tools.entries())
      if (name === READ_RESULT) report(takenName(['tools', i, 'name']))
}

/** MCP 2025-11-25, Tool Names; model providers refuse others. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/

export const checkName =
  (kind: 'tool' | 'prompt') =>
  ({ name }: { name: string }, report: Reporter) => {
    if (NAME.test(name)) return
    const odd = /[^A-Za-z0-9_.-]/u.exec(name)
    const fault = odd
      ? `contains ${odd[0] === ' ' ? 'a space' : quote(odd[0])}`
      : 'is longer than 128 characters'
    const plain = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 128)
    report({
      code: 'name-form',
      path: ['name'],
      message: `the name of the ${kind} ${quote(name)} ${fault}`,
      hint: /[A-Za-z0-9]/.test(plain) ? `Write for example ${quote(plain)}` : 'Use only `A-Z a-z 0-9 _ - .`',
    })
  }

export function checkBody({ name, method, args, requestBody }: Tool, report: Reporter) {
  const inBody = args.findIndex(({ position }) => position === 'body' || position === 'form-data')
  if ((method === 'GET' || method === 'HEAD') && (inBody !== -1 || requestBody !== undefined))
    report({
      code: 'body-with-get',
      path: inBody === -1 ? ['requestBody'] : ['args', inBody, 'position'],
      message: `the tool ${quote(name)} sends a body with ${method}`,
      hint:
        inBody === -1 ? 'Write `method: POST`, or remove it' : 'Write `method: POST`, or `position: query`',
    })
  const form = args.findIndex(({ position }) => position === 'form-data')
  if (form !== -1 && requestBody !== undefined)
    report({
      code: 'form-data-with-body',
      path: ['requestBody'],
      message: `the tool ${quote(name)} has both a \`requestBody\` and form-data arguments`,
      hint: 'Remove `requestBody`, or give the arguments another position',
      related: { path: ['args', form, 'position'], message: 'a form-data argument' },
    })
}

export function checkArg(arg: Arg, report: Reporter) {
  if (arg.slashes && arg.position !== 'path')
    report(
      withoutEffect(
        ['slashes'],
        `for the argument ${quote(arg.name)} of position \`${arg.position}\``,
        'Write `position: path`, or remove it',
      ),
    )
  // Without own schemas it has no pattern either.
  if (!arg.items && !arg.properties) return
  for (const fault of unsupportedPatterns(arg as unknown as Json)) report(fault)
  for (const [key, type] of [
    ['items', 'array'],
    ['properties', 'object'],
  ] as const)
    if (arg[key] && arg.type !== type && Object.keys(arg[key]).length > 0)
      report(
        withoutEffect(
          [key],
          `for the argument ${quote(arg.name)} of type \`${arg.type}\``,
          `Write \`type: ${type}\`, or remove it`,
        ),
      )
}

export function checkSchemas({ inputSchema, outputSchema }: Tool, report: Reporter) {
  if (inputSchema) checkSchema(inputSchema, 'inputSchema', report)
  if (outputSchema) checkSchema(outputSchema, 'outputSchema', report)
}

function checkSchema(schema: JsonObject, key: string, report: Reporter) {
  const path: Path = [key]
  if (schema.type !== 'object') {
    const bare = schema.type === undefined && Object.values(schema).some((value) => typeof value === 'object')
    report({
      code: 'invalid-schema',
      path,
      message: `\`${key}\` must be a schema of \`type: object\``,
      hint: bare ? 'Write the properties under `properties:`, beside `type: object`' : 'Write `type: object`',
    })
    if (bare) return
  }
  for (const fault of metaFaults(toDoubles(schema as Json)))
    report({
      ...fault,
      path: [...path, ...fault.path],
      message:
        fault.code === 'invalid-schema' ? `\`${key}\` is not a JSON Schema: ${fault.message}` : fault.message,
    })
}
