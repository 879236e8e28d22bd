import type { Locate, Path } from '../config/index.ts'
import { metaFaults, unsupportedPatterns } from '../config/json-schema/check.ts'
import { type Configuration, METHODS, type Tool } from '../config/model.ts'
import { checkNotifier } from '../config/notifier.ts'
import { checkLimits, checkTokens, type Report, reporter } from '../config/report.ts'
import { pointerPath } from '../config/schema-findings.ts'
import type { Finding } from '../findings/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { toDoubles } from '../json/index.ts'
import { quote } from '../text/index.ts'
import { checkCors, forwardsLogin, methodHint } from './cors.ts'
import { checkMcpServers } from './mcp-servers.ts'

/** The file whose fields are checked. */
export interface Checking {
  file: string
  text: string
  locate: Locate
  findings: Finding[]
  /** Whether what stands at a path is not what the file says. */
  doubtful: (path: Path) => boolean
}

/** What one field says about another, inside one router, server, tool or argument. */
export function checkFields(configuration: Configuration, checking: Checking) {
  const { file, text, locate, findings, doubtful } = checking
  const report = reporter(file, locate, findings, text)
  checkRouters(configuration, report, checking)
  configuration.servers.forEach(({ name, allowedTools, limits }, i) => {
    checkLimits(limits, ['servers', i, 'limits'], report)
    if (allowedTools?.length !== 0 || doubtful(['servers', i, 'allowedTools'])) return
    const message = `the server ${quote(name)} allows no tool`
    report(
      'empty-allowed-tools',
      ['servers', i, 'allowedTools'],
      message,
      'Name tools, or remove the key to allow all',
    )
  })
  for (const [i, tool] of configuration.tools.entries()) checkTool(tool, ['tools', i], report)
  for (const [kind, key] of [
    ['tool', 'tools'],
    ['prompt', 'prompts'],
  ] as const)
    for (const [i, { name }] of configuration[key].entries())
      if (!doubtful([key, i, 'name'])) checkName(name, kind, [key, i, 'name'], report)
  checkMcpServers(configuration, report, doubtful)
  const { notifier } = configuration
  if (notifier && !doubtful(['notifier'])) checkNotifier(notifier, ['notifier'], report)
}

function checkRouters(configuration: Configuration, report: Report, { locate, doubtful }: Checking) {
  configuration.routers.forEach((router, i) => {
    const { auth } = router
    const login =
      auth?.mode === 'bearer' || (router.cors !== undefined && forwardsLogin(configuration, router))
    checkCors(router, ['routers', i, 'cors'], report, { locate, doubtful, login })
    if (!auth) return
    const tokens: Path = ['routers', i, 'auth', 'tokens']
    if (auth.mode === 'bearer' && auth.tokens.length === 0) {
      const path = locate.key(tokens) ? tokens : ['routers', i, 'auth', 'mode']
      report(
        'missing-key',
        path,
        '`auth` of mode `bearer` needs at least one token',
        'Add `tokens: [{token: "${NAME}", caller: …}]`',
      )
    }
    if (auth.mode === 'none' && auth.tokens.length > 0) {
      report(
        'key-without-effect',
        tokens,
        '`tokens` do nothing with `mode: none`',
        'Write `mode: bearer`, or remove them',
      )
    }
    checkTokens(auth.tokens, tokens, report)
  })
}

/** MCP 2025-11-25, Tool Names; model providers refuse others. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/

function checkName(name: string, kind: string, path: Path, report: Report) {
  if (NAME.test(name)) return
  const odd = /[^A-Za-z0-9_.-]/u.exec(name)
  const fault = odd ? `holds ${odd[0] === ' ' ? 'a space' : quote(odd[0])}` : 'is longer than 128 characters'
  const mended = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 128)
  const hint = /[A-Za-z0-9]/.test(mended)
    ? `Write for example ${quote(mended)}`
    : 'Use `A-Z a-z 0-9 _ - .` only'
  report('name-form', path, `the name of the ${kind} ${quote(name)} ${fault}`, hint)
}

function checkTool(tool: Tool, path: Path, report: Report) {
  const { name, method, args, requestBody } = tool
  if (!METHODS.includes(method)) {
    report(
      'unknown-method',
      [...path, 'method'],
      `${quote(method)} is not an HTTP method`,
      methodHint(method),
    )
  }
  checkLimits(tool.limits, [...path, 'limits'], report)
  if (tool.redirectBody && !tool.followRedirects)
    report(
      'key-without-effect',
      [...path, 'redirectBody'],
      `\`redirectBody\` does nothing for the tool ${quote(name)}, which follows no redirects`,
      'Write `followRedirects: true`, or remove it',
    )
  if (method === 'GET' || method === 'HEAD') checkNoBody(tool, path, report)
  const form = args.findIndex(({ position }) => position === 'form-data')
  if (form !== -1 && requestBody !== undefined) {
    const message = `the tool ${quote(name)} has both a \`requestBody\` and form-data arguments`
    report(
      'form-data-with-body',
      [...path, 'requestBody'],
      message,
      'Remove `requestBody`, or give the arguments another position',
      {
        path: [...path, 'args', form, 'position'],
        message: 'a form-data argument',
      },
    )
  }
  args.forEach((arg, j) => {
    for (const { code, pointer, message, hint } of unsupportedPatterns(arg as unknown as Json))
      report(code, [...path, 'args', j, ...pointerPath(pointer, arg)], message, hint)
    for (const [key, type] of [
      ['items', 'array'],
      ['properties', 'object'],
    ] as const) {
      if (!arg[key] || arg.type === type || Object.keys(arg[key]).length === 0) continue
      const message = `\`${key}\` does nothing for the argument ${quote(arg.name)} of type \`${arg.type}\``
      report(
        'key-without-effect',
        [...path, 'args', j, key],
        message,
        `Write \`type: ${type}\`, or remove it`,
      )
    }
  })
  if (tool.inputSchema) checkSchema(tool.inputSchema, [...path, 'inputSchema'], report)
  if (tool.outputSchema) checkSchema(tool.outputSchema, [...path, 'outputSchema'], report)
}

function checkNoBody({ name, method, args, requestBody }: Tool, path: Path, report: Report) {
  const at = args.findIndex(({ position }) => position === 'body' || position === 'form-data')
  if (at === -1 && requestBody === undefined) return
  const place: Path = at === -1 ? [...path, 'requestBody'] : [...path, 'args', at, 'position']
  report(
    'body-with-get',
    place,
    `the tool ${quote(name)} sends a body with ${method}`,
    at === -1 ? 'Write `method: POST`, or remove it' : 'Write `method: POST`, or `position: query`',
  )
}

function checkSchema(schema: JsonObject, path: Path, report: Report) {
  const key = path.at(-1)
  if (schema.type !== 'object') {
    const bare = schema.type === undefined && Object.values(schema).some((value) => typeof value === 'object')
    const hint = bare
      ? 'Write the properties under `properties:`, beside `type: object`'
      : 'Write `type: object`'
    report('invalid-schema', path, `\`${key}\` must be a schema of \`type: object\``, hint)
    if (bare) return
  }
  for (const { code, pointer, message, hint } of metaFaults(toDoubles(schema as Json))) {
    const at = [...path, ...pointerPath(pointer, schema)]
    report(code, at, code === 'invalid-schema' ? `\`${key}\` is no JSON Schema: ${message}` : message, hint)
  }
}
