import { sampleOf, setMissing } from '../checks/samples.ts'
import type { Arg, Server } from '../config/model.ts'
import type { JsonObject } from '../json/index.ts'
import type { Template } from '../template/index.ts'
import { percentEncode, percentTable, withoutEndSlashes } from '../text/index.ts'
import { CallError } from './failure.ts'
import type { Root } from './root.ts'
import { beforeCalls, type CompileTemplate, isFixed, render, renderInTurns } from './templates.ts'
import type { Problem } from './types.ts'

/** Target of a request: `path` includes the query, and is ASCII without a fragment. */
interface Target {
  origin: string
  path: string
}

/** Creates the target of a call. @throws CallError */
export type Endpoint = (root: Root) => Promise<Target>

/** The target that the template intends, as far as known in advance. */
interface Intent {
  origin: string
  segments: number | undefined
}

interface Foreseen {
  intent?: Intent
  fault?: string
  ofTemplate?: boolean
  target?: Target
  /** Origins named by the author; others are chosen by arguments. */
  authored?: ReadonlySet<string> | undefined
}

/**
 * Compiles an endpoint template, and checks every rendered URL against its intent: same origin, same number of path
 * segments, no `.` or `..`.
 * @returns also the problems found in advance
 */
export function compileEndpoint(
  template: Addressed,
  args: Arg[],
  config: Root['Config'],
): { endpoint: Endpoint } & Omit<Foreseen, 'intent' | 'target'> {
  const { intent, fault, target, authored, ofTemplate = false } = foresee(template, args, config)
  if (fault !== undefined) return { endpoint: async () => fail(fault), fault, ofTemplate }
  if (target) return { endpoint: async () => target, authored: new Set([target.origin]) }
  let known = ''
  let origin = ''
  const targetOf = (url = ''): Target => {
    let end = known.length
    if (end === 0 || !url.startsWith(known) || !isOriginEnd(url, end)) {
      end = originEnd(url)
      if (end < 0) return fail(`is not an absolute http or https URL`)
      const text = url.slice(0, end)
      origin = readOrigin(text)
      known = text
    }
    if (intent && origin !== intent.origin) return fail('has another origin than its template')
    const path = readPath(url, end)
    if (intent?.segments !== undefined && countSegments(path) !== intent.segments)
      return fail('has another number of path segments than its template')
    return { origin, path }
  }
  return {
    authored,
    endpoint: async (root) => targetOf(await renderInTurns(template, root, 'endpoint')),
  }
}

/** An invalid URL of a call. @param clause continues "the URL of this tool" */
class UrlError extends CallError {
  constructor(readonly clause: string) {
    super('request', `No request was sent: the URL of this tool ${clause}.`)
  }
}

function fail(clause: string): never {
  throw new UrlError(clause)
}

/** End of scheme, host and port; -1 if the URL is not absolute. */
function originEnd(url: string): number {
  const scheme = url.indexOf('://')
  if (scheme < 0 || scheme > 20) return -1
  let end = scheme + 3
  while (!isOriginEnd(url, end)) end++
  return end
}

/** Whether host and port can end here. */
function isOriginEnd(url: string, at: number): boolean {
  return at >= url.length || '/?#\\'.includes(url[at]!)
}

/** Checks scheme, host and port. @throws CallError */
export function readOrigin(text: string): string {
  if (!URL.canParse(text)) return fail('does not name a valid host and port')
  const { protocol, username, password, hostname, origin } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:')
    return fail(`uses the scheme ${protocol.slice(0, 20)} but only http and https are supported`)
  if (username || password || text.includes('@'))
    return fail('holds a user name or password; send credentials in a header')
  if (!hostname) return fail('does not name a host')
  return origin
}

const UNSAFE = /[^\x21-\x7e]|["<>\\^`{|}]/
const SAFE = percentTable(/[^"<>\\^`{|}\x00-\x20\x7f]/)
const DOT_SEGMENT = /^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i

/** Path and query of a URL from `start`. @throws CallError for `.` and `..` */
export function readPath(url: string, start: number): string {
  const hash = url.indexOf('#', start)
  let path = hash < 0 ? url.slice(start) : url.slice(start, hash)
  if (path[0] !== '/') path = `/${path}`
  if (UNSAFE.test(path)) path = percentEncode(Buffer.from(path), SAFE)
  if (DOT_SEGMENT.test(path)) return fail('has a path segment that is `.` or `..`')
  return path
}

function countSegments(path: string): number {
  let count = 0
  for (let i = 0; i < path.length; i++) {
    const char = path.charCodeAt(i)
    if (char === 63) break
    if (char === 47) count++
  }
  return count
}

/**
 * The `baseUrl` of a server as text, without slashes at its end; faults are added to `problems`. Undefined: there is
 * none, or it is faulty.
 */
export function renderBase(
  { baseUrl }: Pick<Server, 'baseUrl'>,
  path: Problem['path'],
  compile: CompileTemplate,
  config: Root['Config'],
  problems: Problem[],
): string | undefined {
  if (baseUrl === undefined) return undefined
  const at = [...path, 'baseUrl']
  const template = compile(baseUrl, at, 'url', { Config: true })
  const url =
    template &&
    beforeCalls({ path: at, code: 'template-context' }, problems, () =>
      render(template, { Config: config }, 'baseUrl'),
    )
  if (url === undefined) return undefined
  const fault = faultOf(url)
  if (fault === undefined) return withoutEndSlashes(url)
  const hint = 'Write a URL such as https://api.example.com/v1'
  const message = `The \`baseUrl\` ${fault}`
  problems.push({ path: at, code: 'invalid-value', severity: 'error', message, hint })
  return undefined
}

function faultOf(url: string): string | undefined {
  const [origin] = /^https?:\/\/[^/?#\\]*/i.exec(url) ?? []
  if (origin === undefined) return 'is not an absolute http or https URL'
  if (/[?#]/.test(url)) return 'has a query or fragment: paths of endpoints could not be appended to it'
  try {
    readOrigin(origin)
    readPath(url, origin.length)
    return undefined
  } catch (error) {
    if (!(error instanceof UrlError)) throw error
    return error.clause
  }
}

/** A template of a URL; `base`: the text before its output, which has the origin. */
type Addressed = Template & { base?: string }

/** The template of a URL from that of a path below `base`. */
export function below(base: string, template: Template): Addressed {
  const whole = (path: string | undefined) => path && base + path
  const { source, references, constant } = template
  return {
    base,
    source,
    references,
    constant: whole(constant),
    render: (data) => whole(template.render(data)),
    renderInTurns: async (data) => whole(await template.renderInTurns(data)),
  }
}

/** Branches and `raw` may result in another origin or path for each call. */
const BRANCHING = /\b(?:if|range|with|template|block|raw)\b/

/** Renders the template with harmless values to learn origin and path; inconclusive if the template branches. */
function foresee(template: Addressed, args: Arg[], config: Root['Config']): Foreseen {
  const fixed = isFixed(template)
  if (!fixed && BRANCHING.test(template.source)) {
    return { authored: authoredOrigins(template, args, config) }
  }
  let url: string
  try {
    url = template.render(sampleRoot(template, args, config)) ?? ''
  } catch (error) {
    const reason = error instanceof Error ? `: ${error.message}` : ''
    return fixed ? { fault: `cannot be rendered${reason}`, ofTemplate: true } : {}
  }
  try {
    const end = originEnd(url)
    if (end < 0) return { fault: 'is not an absolute http or https URL' }
    const target = { origin: readOrigin(url.slice(0, end)), path: readPath(url, end) }
    if (fixed) return { target }
    // A value that keeps its slashes may have any number of segments.
    const keeps = args.some(({ position, slashes }) => position === 'path' && slashes === 'keep')
    const intent = { origin: target.origin, segments: keeps ? undefined : countSegments(target.path) }
    return { intent, authored: new Set([target.origin]) }
  } catch (error) {
    if (!(error instanceof UrlError)) throw error
    return { fault: error.clause }
  }
}

/** Sample arguments of a URL: minimal, with some items to index. */
const PLAIN = { text: 'x', items: 4 }

function sampleRoot(template: Template, args: Arg[], config: Root['Config'], text = PLAIN.text): object {
  const root: JsonObject = { Config: config, Args: {}, Request: {} }
  for (const { name, type } of args)
    setMissing(root, ['Args', name], sampleOf({ type }, true, { ...PLAIN, text }))
  for (const { path } of template.references)
    if (path[0] === 'Args' || path[0] === 'Request') setMissing(root, path, text)
  return root
}

/** Literal origins in a template. */
const WRITTEN = /https?:\/\/[^\s"'`{}/?#\\]+(?=[\s"'`/?#]|$|\{\{-?\s*(?:else|end)\b)/gi

/** Origins written by the author of a URL, including the constant one. */
export function authoredOrigins(
  template: Addressed,
  args: Arg[] = [],
  config: Root['Config'] = {},
): ReadonlySet<string> {
  const origins = new Set<string>()
  const add = (make: () => string | undefined) => {
    try {
      const origin = make()
      if (origin !== undefined) origins.add(origin)
    } catch {
      // Not a URL, or it depends on the caller.
    }
  }
  for (const text of [template.base ?? '', template.source, ...Object.values(config)])
    for (const [origin] of String(text).matchAll(WRITTEN)) add(() => readOrigin(origin))
  add(() => {
    const [one, other] = [PLAIN.text, 'y'].map((text) => {
      const url = template.render(sampleRoot(template, args, config, text)) ?? ''
      return readOrigin(url.slice(0, originEnd(url)))
    })
    return one === other ? one : undefined
  })
  return origins
}

/** Replaces each value by its name in braces, unless it is an address. */
export function namesOnly(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const isAddress = (value = '') => /^https?:\/\/[^@?]*$/i.test(value)
  const shown = Object.entries(values).map(([name, value]) => [name, isAddress(value) ? value : `{${name}}`])
  return Object.fromEntries(shown)
}

/**
 * The URL for messages: origin and path without the query; values from `Config` or the environment appear by name, as
 * they may be secret.
 */
export async function shownUrl(origin: string, masked: Template | undefined, root: Root): Promise<string> {
  if (!masked) return origin
  try {
    const url = (await masked.renderInTurns({ ...root, Config: namesOnly(root.Config) })) ?? ''
    const end = originEnd(url)
    return end < 0 ? origin : origin + url.slice(end).replace(/[?#].*$/s, '')
  } catch {
    return origin
  }
}

/** The path of an endpoint with names in place of values: constant, and free of arguments. */
export function pathTemplate(endpoint: string): string {
  const [before = '', ...actions] = endpoint.trim().split('{{')
  const named = [before, ...actions.map(namedAction)].join('')
  const path = named.replace(/[?#].*$/s, '').replace(/^(?:https?:\/\/)?[^/]*/i, '')
  return path || '/'
}

/** Text that begins with an action, replaced by its last name. */
function namedAction(text: string): string {
  const end = text.indexOf('}}')
  if (end < 0) return `{{${text}`
  return `{${/(\w+)\W*$/.exec(text.slice(0, end))?.[1] ?? ''}}${text.slice(end + 2)}`
}
