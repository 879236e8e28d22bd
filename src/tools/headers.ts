import { readFileSync } from 'node:fs'
import type { Tool } from '../config/model.ts'
import { encodeCookie, type Template } from '../template/index.ts'
import { CallError } from './failure.ts'
import type { Root } from './root.ts'
import { type CompileTemplate, isFixed, REQUEST_ROOTS, render, renderInTurns } from './templates.ts'
import type { Problem } from './types.ts'
import { valueText } from './values.ts'

/** RFC 9110 §7.6.1 and §6.4.1: what frames the message or belongs to one connection. */
const FRAMING = new Set([
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

const packageJson = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const USER_AGENT = `plantgw/${packageJson.version}`
const ACCEPT = 'application/json, text/*;q=0.9, */*;q=0.8'

export interface Headers {
  templates: Template[]
  /** The media type that the tool names for its body, when it is known before a call; lower case. */
  mediaType: string | undefined
  /** Whether the tool names a Content-Type at all. */
  namesContentType: boolean
  /** Names and values in turn. @throws CallError */
  make(root: Root, args: Record<string, unknown>): Promise<string[]>
}

/**
 * The headers of a tool: its own, one for each argument of position `header`, and `Accept` and `User-Agent`
 * where it names none. Nothing of the caller's request is in them unless a template names it.
 */
export function compileHeaders(
  tool: Tool,
  path: (string | number)[],
  config: Root['Config'],
  compile: CompileTemplate,
  problems: Problem[],
): Headers {
  const fixed: string[] = []
  const dynamic: { name: string; what: string; template: Template }[] = []
  const ofArgs = tool.args.filter(({ position }) => position === 'header')
  const ofArgsNames = new Set(ofArgs.map(({ name }) => name.toLowerCase()))
  const seen = new Set<string>()
  const multipart = tool.args.some(({ position }) => position === 'form-data')
  let mediaType: string | undefined

  const refuse = (at: (string | number)[], name: string, args: boolean): boolean => {
    const lower = name.toLowerCase()
    const message = !TOKEN.test(name)
      ? `\`${name}\` is not a header name`
      : FRAMING.has(lower) || (args && lower === 'host')
        ? `The header \`${name}\` cannot be set by a tool`
        : undefined
    if (message)
      problems.push({ path: at, code: 'forbidden-header', severity: 'error', message, hint: 'Remove it' })
    return message !== undefined
  }

  for (const [i, arg] of tool.args.entries())
    if (arg.position === 'header') refuse([...path, 'args', i, 'name'], arg.name, true)

  for (const [name, source] of Object.entries(tool.headers)) {
    const at = [...path, 'headers', name]
    const lower = name.toLowerCase()
    if (refuse(at, name, false)) continue
    if (seen.has(lower)) {
      const message = `The header \`${name}\` stands twice: names of headers differ in more than case`
      problems.push({
        path: at,
        code: 'duplicate-name',
        severity: 'error',
        message,
        hint: 'Remove one of them',
      })
      continue
    }
    seen.add(lower)
    const template = compile(source, at, headerPlace(name), REQUEST_ROOTS)
    // The boundary is ours to name.
    if (!template || (multipart && lower === 'content-type')) continue
    if (ofArgsNames.has(lower) || !isFixed(template)) {
      dynamic.push({ name, what: `header ${name}`, template })
      continue
    }
    try {
      const value = render(template, { Config: config, Args: {}, Request: {} }, `header ${name}`)
      if (value === undefined) continue
      fixed.push(name, headerValue(name, value))
      if (lower === 'content-type') mediaType = value.split(';')[0]!.trim().toLowerCase()
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      problems.push({
        path: at,
        code: 'invalid-value',
        severity: 'error',
        message: (error.detail ?? error.text).replace(/\.$/, ''),
      })
    }
  }
  if (!seen.has('accept') && !ofArgsNames.has('accept')) fixed.push('Accept', ACCEPT)
  if (!seen.has('user-agent') && !ofArgsNames.has('user-agent')) fixed.push('User-Agent', USER_AGENT)

  return {
    templates: dynamic.map(({ template }) => template),
    mediaType,
    namesContentType: !multipart && (seen.has('content-type') || ofArgsNames.has('content-type')),
    async make(root, args) {
      const headers = [...fixed]
      let given: Set<string> | undefined
      for (const { name } of ofArgs) {
        if (!Object.hasOwn(args, name)) continue
        const value = valueText(args[name] as never)
        headers.push(name, headerValue(name, headerPlace(name) === 'cookie' ? encodeCookie(value) : value))
        given ??= new Set()
        given.add(name.toLowerCase())
      }
      for (const { name, what, template } of dynamic) {
        if (given?.has(name.toLowerCase())) continue
        const value = await renderInTurns(template, root, what)
        if (value !== undefined) headers.push(name, headerValue(name, value))
      }
      return headers
    },
  }
}

/** How values are escaped in this header. */
export function headerPlace(name: string): 'cookie' | 'header' {
  return name.toLowerCase() === 'cookie' ? 'cookie' : 'header'
}

/**
 * A value as it goes over the wire: without control characters, and anything beyond ASCII as its UTF-8 bytes,
 * as curl and Go send it. undici writes headers as latin1, so each byte is one character here.
 * @throws CallError
 */
export function headerValue(name: string, value: string): string {
  if (CONTROL.test(value))
    throw new CallError(
      'arguments',
      `Nothing was sent: the value of the header ${name} holds a control character, such as a line break.`,
    )
  return wireText(value)
}

/** The UTF-8 bytes of a header's value, each as one character. */
export function wireText(value: string): string {
  return /[^\x20-\x7e\t]/.test(value) ? Buffer.from(value).toString('latin1') : value
}
