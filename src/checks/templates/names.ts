import type { Finding } from '../../findings/index.ts'
import { isObject, type JsonObject } from '../../json/index.ts'
import type { Span } from '../../template/index.ts'
import { nearest, oneEditAway } from '../../text/index.ts'
import { REQUEST_FIELDS, RESPONSE_FIELDS, type Subject } from '../subjects.ts'
import type { Ref } from './walk.ts'

/** Reports a finding at a place of the template; `fix` replaces the text of `span`. */
export type Report = (
  code: Finding['code'],
  span: Span,
  message: string,
  hint?: string,
  more?: { severity?: Finding['severity']; fix?: string },
) => void

export const ROOTS = ['Config', 'Args', 'Request', 'Response']

const MISSING_PHASE: Record<Subject['phase'], string> = {
  request: 'there is no answer yet when the request is made',
  response: '',
  config: '`config` is read at load, before any call',
  prompt: 'a prompt reads its arguments only',
  upstream: 'an MCP server is reached with nothing but the request',
}
const PHASE_CURE: Record<Subject['phase'], string> = {
  request: 'Read `.Response` in `responseBody` or `errorBody`',
  response: '',
  config: 'Use `env`, or move the template into the tool',
  prompt: 'Read `.Args`',
  upstream: 'Read `.Request`',
}

/** Judges one reference: whether its names exist where the template is rendered. */
export function checkRef(ref: Ref, subject: Subject, report: Report): void {
  const [root, name] = ref.path
  if (root === undefined) return
  const at = (i: number): Span => ref.spans[i] ?? ref
  if (!Object.hasOwn(subject.roots, root)) {
    unknownRoot(root, at(0), name, subject, report)
    return
  }
  if (name === undefined) return
  if (root === 'Args') checkArgument(ref, subject, report)
  else if (root === 'Config') checkConfig(name, at(1), subject, report)
  else checkField(root, name, ref, at, report)
}

function checkField(root: string, name: string, ref: Ref, at: (i: number) => Span, report: Report): void {
  const fields = root === 'Request' ? REQUEST_FIELDS : RESPONSE_FIELDS
  if (!fields.includes(name)) {
    misspelt('template-root', `.${root}`, name, at(1), fields, report, `\`.${root}\` has no field`)
    return
  }
  const header = ref.path[2]
  if (name === 'Headers' && header !== undefined && header !== '*') checkHeader(root, header, at(2), report)
}

function unknownRoot(
  root: string,
  span: Span,
  name: string | undefined,
  subject: Subject,
  report: Report,
): void {
  if (ROOTS.includes(root)) {
    const { phase } = subject
    report(
      'template-phase',
      span,
      `\`.${root}\` cannot be read here: ${MISSING_PHASE[phase]}`,
      PHASE_CURE[phase],
    )
    return
  }
  const known = Object.keys(subject.roots)
  const close = nearest(root, known)
  const ofArgs = name !== undefined && !close && subject.args.schemas.has(name)
  const meant = ofArgs ? field('.Args', name) : meantBy(root, subject)
  if (meant) {
    report('template-root', span, `there is no \`.${root}\``, `Did you mean \`${meant}\`?`)
    return
  }
  if (known.length === 0) {
    report(
      'template-phase',
      span,
      `\`.${root}\` cannot be read here: ${MISSING_PHASE.config}`,
      PHASE_CURE.config,
    )
    return
  }
  misspelt('template-root', '', root, span, known, report, NO_ROOT, ROOTS)
}

/** Where a name that stands directly behind the dot belongs. */
export function meantBy(name: string, { args, servers, roots }: Subject): string | undefined {
  if (roots.Args && args.schemas.has(name)) return field('.Args', name)
  if (roots.Config && servers.some(({ config }) => Object.hasOwn(config, name))) return field('.Config', name)
  if (roots.Request && name === 'Headers') return '.Request.Headers'
  if (roots.Response && RESPONSE_FIELDS.includes(name)) return `.Response.${name}`
  return undefined
}

/** `.Args.name`, or with `index` where the name cannot stand behind a dot. */
export function field(parent: string, name: string): string {
  return /^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(name)
    ? `${parent}.${name}`
    : `index ${parent} ${JSON.stringify(name)}`
}

function checkArgument({ path, spans, start, end }: Ref, subject: Subject, report: Report): void {
  const { schemas, open } = subject.args
  const name = path[1]!
  if (name === '*') return
  const schema = schemas.get(name)
  if (!schema) {
    if (!open)
      misspelt(
        'template-argument',
        '.Args',
        name,
        spans[1] ?? { start, end },
        schemas.keys(),
        report,
        'there is no argument',
      )
    return
  }
  let at: JsonObject = schema
  for (let i = 2; i < path.length; i++) {
    const segment = path[i]!
    const { properties, items } = at
    if (segment === '*') {
      if (!isObject(items)) return
      at = items
      continue
    }
    if (!isObject(properties) || Object.keys(properties).length === 0) return
    const next = properties[segment]
    if (next === undefined) {
      const names = Object.keys(properties)
      const where = path
        .slice(1, i)
        .filter((one) => one !== '*')
        .join('.')
      misspelt(
        'template-argument',
        '',
        segment,
        spans[i] ?? { start, end },
        names,
        report,
        `the argument \`${where}\` declares no property`,
        names,
        'warning',
      )
      return
    }
    if (!isObject(next)) return
    at = next
  }
}

function checkConfig(name: string, span: Span, { servers }: Subject, report: Report): void {
  if (name === '*') return
  const without = servers.find(({ config }) => !Object.hasOwn(config, name))
  if (!without) return
  const keys = Object.keys(without.config)
  misspelt(
    'template-config',
    '.Config',
    name,
    span,
    keys,
    report,
    `the server \`${without.name}\` has no config key`,
  )
}

/** Names of headers stand in templates as Go writes them. Headers of answers are not found in any other case. */
function checkHeader(root: string, name: string, span: Span, report: Report): void {
  const canonical = canonicalHeader(name)
  if (canonical === name) return
  const answer = root === 'Response'
  const message = `the header \`${name}\` is written \`${canonical}\``
  const hint = answer ? `Write \`${canonical}\`: in any other case it is not found` : `Write \`${canonical}\``
  report('template-header-case', span, message, hint, {
    severity: answer ? 'error' : 'warning',
    fix: canonical,
  })
}

/** As Go writes it: `Content-Type`. */
export function canonicalHeader(name: string): string {
  return name.replace(/[^-]+/g, (word) => word[0]!.toUpperCase() + word.slice(1).toLowerCase())
}

const NO_ROOT = 'there is no'
/** So many names are compared with a misspelt one, and listed. */
const MAX_COMPARED = 500
const MAX_LISTED = 12

function misspelt(
  code: Finding['code'],
  parent: string,
  name: string,
  span: Span,
  known: Iterable<string>,
  report: Report,
  complaint: string,
  also: readonly string[] = [],
  severity?: Finding['severity'],
): void {
  const names = [...known].slice(0, MAX_COMPARED)
  const isRoot = complaint === NO_ROOT
  const close =
    names.find((one) => one.toLowerCase() === name.toLowerCase()) ?? nearest(name, [...names, ...also])
  const shown = names.slice(0, MAX_LISTED).map((one) => `\`${one}\``)
  const list =
    names.length > 0
      ? `There are ${shown.join(', ')}${names.length > MAX_LISTED ? ', …' : ''}`
      : 'There are none'
  const cure = close && (isRoot ? `.${close}` : parent === '' ? close : field(parent, close))
  const hint = cure ? `Did you mean \`${cure}\`?` : list
  const fix = oneEditAway(name, names)
  const isName = fix !== undefined && /^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(fix)
  const shownName = isRoot ? `.${name}` : name
  report(code, span, `${complaint} \`${shownName}\``, hint, {
    ...(severity && { severity }),
    ...(isName && { fix }),
  })
}
