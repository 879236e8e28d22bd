import { type Json, stringify, valueAt } from '../json/index.ts'
import { hasDotSegment, type RenderError, type Template } from '../template/index.ts'
import { capital, cut } from '../text/index.ts'
import { CallError } from './failure.ts'

/**
 * The failure of a template in a call. Its text is for the caller, who can change arguments and nothing else; `detail`,
 * with the place in the template and the fix, is for the author.
 * @param what names the template, such as `endpoint` or `header X-Id`; `text` is one of a prompt
 */
export function unrendered(error: RenderError, template: Template, root: object, what: string): CallError {
  const { message, hint, line, column, start, end } = error
  const whole = `the ${what} of this ${what === 'text' ? 'prompt' : 'tool'} could not be rendered`
  const at = `at \`${cut(template.source.slice(start, end), 80)}\`, line ${line}, column ${column}`
  const detail = capital(`${whole}: ${message}${hint ? ` (${hint})` : ''}, ${at}.`)
  const before = what === 'text' || Object.hasOwn(root, 'Response') ? '' : 'No request was sent: '
  const reason = reasonOf(error, template, root, what) ?? `${whole}${ofArgs(error, template)}`
  return new CallError('template', `${capital(before + reason)}.`, detail)
}

/** In terms of what the caller gave; undefined where that is not what it is about. */
function reasonOf(
  { kind, start, end }: RenderError,
  template: Template,
  root: object,
  what: string,
): string | undefined {
  if (kind !== 'missing' && kind !== 'unsafe') return undefined
  const inside = template.references.filter((one) => start <= one.start && one.end <= end)
  // That a header cannot hold a value is seen when it is finished.
  const paths = (what.startsWith('header') || inside.length === 0 ? template.references : inside).map(
    ({ path }) => path,
  )
  const find = (test: (value: unknown) => boolean) => paths.find((path) => test(valueAt(root, path)))
  if (kind === 'missing') {
    const missing = find((value) => value === undefined || value === null)
    if (missing) return missingText(missing)
    const empty = find((value) => value === '')
    return empty && `${nameOf(empty)} must not be empty`
  }
  if (what.startsWith('header')) {
    const odd = find((value) => typeof value === 'string' && /[\x00-\x08\x0a-\x1f\x7f]/.test(value))
    return (
      odd && `${nameOf(odd)} contains a line break or another character that is not allowed in the ${what}`
    )
  }
  const dots = find((value) => value === '.' || value === '..')
  if (dots) return `${nameOf(dots)} must not be \`${valueAt(root, dots)}\`: it must be a name`
  const given = paths.filter(([field]) => field !== 'Config')
  const holding = given.filter((path) => hasDotSegment(textOf(valueAt(root, path))))
  const names = [...new Set((holding.length > 0 ? holding : given).map(nameOf))].join(', ')
  return names && `${names} must not put \`.\` or \`..\` between slashes of the URL's path, encoded or not`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : stringify(value as Json)
}

function missingText(path: readonly string[]): string {
  const cure = {
    Args: 'provide a value',
    Config: 'only the operator of this gateway can fix that',
    Request: 'it is part of the request to this gateway, not of the arguments',
  }[path[0] ?? '']
  return `${nameOf(path)} is missing${cure ? `; ${cure}` : ''}`
}

function nameOf([root = '', ...path]: readonly string[]): string {
  const [field, ...names] = path
  if (root === 'Args') return path.length > 0 ? `\`${cut(path.join('.'), 120)}\`` : 'the arguments'
  if (root === 'Request' && field === 'Headers' && names.length > 0)
    return `the header \`${names.join('.')}\``
  return `\`.${[root, ...path].join('.')}\``
}

/** What went wrong and the arguments that were involved, without the expression that the message ends with. */
function ofArgs({ message, start, end }: RenderError, { source, references }: Template): string {
  const expression = source.slice(start, end).replace(/\s+/g, ' ')
  const at = message.lastIndexOf(', at ')
  const bare = at >= 0 && expression.startsWith(message.slice(at + 5)) ? message.slice(0, at) : message
  const inside = references.filter((one) => one.path[0] === 'Args' && start <= one.start && one.end <= end)
  const names = [...new Set(inside.map(({ path }) => nameOf(path)))]
  return `${names.length > 0 ? ` with ${names.join(', ')}` : ''}: ${bare}`
}
