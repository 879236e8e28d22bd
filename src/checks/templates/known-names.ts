import { type FindingCode, type Severity, suggest } from '../../findings/index.ts'
import { isObject, type JsonObject } from '../../json/index.ts'
import type { Span } from '../../template/index.ts'
import { canonicalHeader, nearest, quoteSome } from '../../text/index.ts'
import { CALLER_FIELDS, REQUEST_FIELDS, RESPONSE_FIELDS, type Subject } from '../subjects.ts'
import type { Ref, TemplateReporter } from './walk.ts'

export const ROOTS = ['Config', 'Args', 'Request', 'Caller', 'Response']
/** Fields of roots with a fixed set. */
export const FIELDS_OF: Readonly<Record<string, readonly string[]>> = {
  Request: REQUEST_FIELDS,
  Caller: CALLER_FIELDS,
  Response: RESPONSE_FIELDS,
}

/** Why a root cannot be read in a phase, and the alternative. */
const PHASES: Record<Subject['phase'], { reason: string; hint: string }> = {
  request: {
    reason: 'there is no response yet when the request is made',
    hint: 'Read `.Response` in `responseBody` or `errorBody`',
  },
  response: { reason: '', hint: '' },
  config: {
    reason: '`config` is read at load, before any call',
    hint: 'Use `env`, or move the template into the tool',
  },
  base: {
    reason: '`baseUrl` is the same for every call',
    hint: 'Write this part into the `endpoint` of the tool',
  },
  shared: {
    reason: 'it differs between the tools of the server, or comes after the request',
    hint: 'Move the header into the tools that have the value',
  },
  prompt: { reason: 'a prompt reads only its arguments', hint: 'Read `.Args`' },
  upstream: {
    reason: 'an MCP server is reached with nothing but the request',
    hint: 'Read `.Request` or `.Caller`',
  },
}

/** Checks whether a reference's names exist in the template's data. */
export function checkRef(ref: Ref, subject: Subject, report: TemplateReporter) {
  const [root, name, header] = ref.path
  if (root === undefined) return
  const at = (i: number): Span => ref.spans[i] ?? ref
  if (!Object.hasOwn(subject.roots, root)) return unknownRoot(root, at(0), name, subject, report)
  if (name === undefined) return
  if (root === 'Args') return checkArgument(ref, subject, report)
  if (root === 'Config') return checkConfig(name, at(1), subject, report)
  const known = FIELDS_OF[root] ?? []
  if (!known.includes(name))
    misspelt(
      {
        code: 'template-root',
        name,
        at: at(1),
        known,
        complaint: `\`.${root}\` has no field`,
        parent: `.${root}`,
      },
      report,
    )
  else if (name === 'Headers' && header !== undefined && header !== '*')
    checkHeader(root, header, at(2), report)
}

function unknownRoot(
  root: string,
  at: Span,
  name: string | undefined,
  subject: Subject,
  report: TemplateReporter,
) {
  const known = Object.keys(subject.roots)
  const phase = ROOTS.includes(root) ? subject.phase : known.length === 0 ? 'config' : undefined
  if (phase) {
    const { reason, hint } = PHASES[phase]
    return report({
      code: 'template-phase',
      at,
      message: `\`.${root}\` cannot be read here: ${reason}`,
      hint,
    })
  }
  const ofArgs = name !== undefined && !nearest(root, known) && subject.args.schemas.has(name)
  const ofEnv = name !== undefined && /^env$/i.test(root)
  const meant = ofArgs ? field('.Args', name) : ofEnv ? `env ${JSON.stringify(name)}` : meantBy(root, subject)
  if (meant) report({ code: 'template-root', at, message: `there is no \`.${root}\``, suggestion: meant })
  else
    misspelt(
      { code: 'template-root', name: root, at, known, complaint: 'there is no', parent: '', also: ROOTS },
      report,
    )
}

/** Where a name directly after the dot belongs. */
export function meantBy(name: string, { args, servers, roots }: Subject): string | undefined {
  if (roots.Args && args.schemas.has(name)) return field('.Args', name)
  if (roots.Config && servers.some(({ config }) => Object.hasOwn(config, name))) return field('.Config', name)
  if (roots.Request && name === 'Headers') return '.Request.Headers'
  if (roots.Response && RESPONSE_FIELDS.includes(name)) return `.Response.${name}`
  return undefined
}

const NAME = /^[\p{L}_][\p{L}\p{Nd}_]*$/u

/** `.Args.name`, or `index` for a name that cannot follow a dot. */
export function field(parent: string, name: string): string {
  return NAME.test(name) ? `${parent}.${name}` : `index ${parent} ${JSON.stringify(name)}`
}

function checkArgument({ path, spans, start, end }: Ref, { args }: Subject, report: TemplateReporter) {
  const at = (i: number): Span => spans[i] ?? { start, end }
  const name = path[1]!
  if (name === '*') return
  let schema = args.schemas.get(name)
  if (!schema && !args.open) {
    const known = args.schemas.keys()
    const complaint = 'there is no argument'
    misspelt({ code: 'template-argument', name, at: at(1), known, complaint, parent: '.Args' }, report)
  }
  for (let i = 2; schema && i < path.length; i++) {
    const { properties, items }: JsonObject = schema
    const segment = path[i]!
    if (segment !== '*' && isObject(properties) && properties[segment] === undefined) {
      const known = Object.keys(properties)
      if (known.length === 0) return
      const names = path.slice(1, i).filter((one) => one !== '*')
      const complaint = `the argument \`${names.join('.')}\` declares no property`
      const fault: Misspelt = { code: 'template-argument', name: segment, at: at(i), known, complaint }
      return misspelt({ ...fault, severity: 'warning' }, report)
    }
    const next = segment === '*' ? items : isObject(properties) && properties[segment]
    schema = isObject(next) ? next : undefined
  }
}

function checkConfig(name: string, at: Span, { servers }: Subject, report: TemplateReporter) {
  const without = name === '*' ? undefined : servers.find(({ config }) => !Object.hasOwn(config, name))
  if (!without) return
  const known = Object.keys(without.config)
  const complaint = `the server \`${without.name}\` has no config key`
  const none = NAME.test(name) ? `Add \`config: {${name}: …}\` to the server` : undefined
  misspelt({ code: 'template-config', name, at, known, complaint, parent: '.Config', none }, report)
}

/** Header names in templates follow Go's canonical form; response headers are found in no other case. */
function checkHeader(root: string, name: string, at: Span, report: TemplateReporter) {
  const canonical = canonicalHeader(name)
  if (canonical === name) return
  const ofResponse = root === 'Response'
  report({
    code: 'template-header-case',
    at,
    message: `the header \`${name}\` is written \`${canonical}\``,
    hint: `Write \`${canonical}\`${ofResponse ? ': in any other case it is not found' : ''}`,
    severity: ofResponse ? 'error' : 'warning',
    fix: canonical,
  })
}

const MAX_COMPARED = 500

interface Misspelt {
  code: FindingCode
  name: string
  at: Span
  known: Iterable<string>
  complaint: string
  /** Parent in the suggestion; empty for the root. */
  parent?: string
  /** Further candidates. */
  also?: readonly string[]
  severity?: Severity
  /** The hint where no name is known. */
  none?: string | undefined
}

function misspelt(
  { code, name, at, known, complaint, parent, also, severity, none = 'There are none' }: Misspelt,
  report: TemplateReporter,
) {
  const names = [...known].slice(0, MAX_COMPARED)
  const { suggestion, fix } = suggest(name, names, also)
  const list = quoteSome(names)
  report({
    code,
    at,
    message: `${complaint} \`${parent === '' ? '.' : ''}${name}\``,
    ...(suggestion === undefined
      ? { hint: names.length > 0 ? `Available: ${list}` : none }
      : { suggestion: parent === undefined ? suggestion : field(parent, suggestion) }),
    ...(fix && NAME.test(fix.now) && { fix: fix.now }),
    severity,
  })
}
