import { readFileSync } from 'node:fs'
import { type Tool, wireName } from '../config/model.ts'
import type { DeclaredHeader } from '../config/short-form.ts'
import type { Template } from '../template/index.ts'
import { checkedHeader, headerPlace, wireText } from './argument-text.ts'
import type { RequestDraft } from './positions.ts'
import type { Root } from './root.ts'
import {
  beforeCalls,
  type CompileTemplate,
  isFixed,
  REQUEST_ROOTS,
  render,
  renderInTurns,
} from './templates.ts'
import type { Problem } from './types.ts'

/** RFC 9110 §7.6.1 and §6.4.1: framing and hop-by-hop headers. */
const FRAMING =
  /^(?:connection|content-length|expect|http2-settings|keep-alive|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

const packageJson = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const USER_AGENT = `plantgw/${packageJson.version}`
const ACCEPT = 'application/json, text/*;q=0.9, */*;q=0.8'

export interface Headers {
  /** Constant headers of the tool: alternating names and values. */
  fixed: readonly string[]
  templates: Template[]
  /** Media type of the body in lower case, if constant. */
  mediaType: string | undefined
  namesContentType: boolean
  /** Adds the headers to a request, except those of arguments. @throws CallError */
  write(draft: RequestDraft, root: Root): Promise<void>
}

/** A header whose value is rendered for each call. */
interface Templated {
  name: string
  /** Name for errors, such as `header X-Id`. */
  what: string
  template: Template
  /** Argument that replaces the value, if given. */
  argument: string | undefined
}

/**
 * The headers of a tool: the declared ones, one for each `header` argument, and default `Accept` and `User-Agent`. Headers of the
 * caller are included only by templates.
 */
export function compileHeaders(
  tool: Tool,
  path: Problem['path'],
  declared: readonly DeclaredHeader[],
  config: Root['Config'],
  compile: CompileTemplate,
  problems: Problem[],
): Headers {
  const fixed: string[] = []
  const templated: Templated[] = []
  /** Argument names by lower-case header name. */
  const given = new Map<string, string>()
  for (const [i, arg] of tool.args.entries()) {
    if (arg.position !== 'header') continue
    const name = wireName(arg)
    given.set(name.toLowerCase(), arg.name)
    checkName(name, [...path, 'args', i, arg.as === undefined ? 'name' : 'as'], true, problems)
  }
  const multipart = tool.args.some(({ position }) => position === 'form-data')
  const named = new Set<string>()
  let mediaType: string | undefined
  for (const { name, source, path: at } of declared) {
    const lower = name.toLowerCase()
    if (!checkName(name, at, false, problems)) continue
    if (named.has(lower)) {
      const message = `Duplicate header \`${name}\`: header names are case-insensitive`
      problems.push({
        path: at,
        code: 'duplicate-name',
        severity: 'error',
        message,
        hint: 'Remove one of them',
      })
      continue
    }
    named.add(lower)
    const template = compile(source, at, headerPlace(name), REQUEST_ROOTS)
    // The gateway sets the boundary.
    if (!template || (multipart && lower === 'content-type')) continue
    const argument = given.get(lower)
    if (argument !== undefined || !isFixed(template)) {
      templated.push({ name, what: `header ${name}`, template, argument })
      continue
    }
    const value = beforeCalls({ path: at, code: 'invalid-value' }, problems, () => {
      const text = render(template, { Config: config, Args: {}, Request: {} }, `header ${name}`)
      return text === undefined ? undefined : checkedHeader(name, text)
    })
    if (value === undefined) continue
    fixed.push(name, wireText(value))
    if (lower === 'content-type') mediaType = value.split(';')[0]!.trim().toLowerCase()
  }
  const isNamed = (lower: string) => named.has(lower) || given.has(lower)
  if (!isNamed('accept')) fixed.push('Accept', ACCEPT)
  if (!isNamed('user-agent')) fixed.push('User-Agent', USER_AGENT)

  return {
    fixed,
    templates: templated.map(({ template }) => template),
    mediaType,
    namesContentType: !multipart && isNamed('content-type'),
    async write(draft, root) {
      draft.headers.push(...fixed)
      for (const { name, what, template, argument } of templated) {
        if (argument !== undefined && Object.hasOwn(root.Args, argument)) continue
        const value = await renderInTurns(template, root, what)
        if (value !== undefined) draft.header(name, value)
      }
    },
  }
}

/** Whether a tool may set the header. @param byArgument whether an argument is its value */
function checkName(name: string, path: Problem['path'], byArgument: boolean, problems: Problem[]): boolean {
  const isFraming = FRAMING.test(name) || (byArgument && name.toLowerCase() === 'host')
  if (TOKEN.test(name) && !isFraming) return true
  const message = isFraming ? `A tool cannot set the header \`${name}\`` : `\`${name}\` is not a header name`
  problems.push({ path, code: 'forbidden-header', severity: 'error', message, hint: 'Remove it' })
  return false
}
