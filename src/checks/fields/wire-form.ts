import { type Arg, type Tool, wireName } from '../../config/model.ts'
import type { Reporter } from '../../findings/index.ts'
import { isIdentifier, quote, quoteAll } from '../../text/index.ts'
import { type Context, withoutEffect } from '../check.ts'
import { mediaTypeOf } from '../subjects.ts'

type Style = NonNullable<Arg['style']>

const IN_QUERY: readonly Style[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']
/** OpenAPI 3.1, "Style Values". */
const STYLES: Readonly<Record<Arg['position'], readonly Style[]>> = {
  query: IN_QUERY,
  body: IN_QUERY,
  path: ['simple', 'label', 'matrix'],
  header: ['simple'],
  'form-data': [],
}

export function checkStyle(
  { name, position, style, explode, type }: Arg,
  report: Reporter,
  { isRepaired, path, configuration }: Context,
) {
  if (isRepaired([...path, 'position']) || isRepaired([...path, 'style'])) return
  const allowed = STYLES[position]
  // An `inputSchema` says the type.
  const isTyped = configuration.tools[Number(path[1])]?.inputSchema !== undefined
  const without = (key: 'style' | 'explode', why: string, hint = 'Remove it') =>
    report(withoutEffect([key], `for the argument ${quote(name)} ${why}`, hint))
  if (allowed.length === 0) {
    if (style !== undefined) without('style', `of position \`${position}\``)
    else if (explode !== undefined) without('explode', `of position \`${position}\``)
  } else if (style !== undefined && !allowed.includes(style))
    report({
      code: 'invalid-value',
      path: ['style'],
      message: `\`style: ${style}\` is not for an argument of position \`${position}\``,
      hint: `Allowed: ${quoteAll(allowed)}`,
    })
  else if (style === 'deepObject' && !isTyped && type !== 'object' && type !== 'array')
    without('style', `of type \`${type}\``, 'Write `type: object`, or remove it')
  else if (style === 'deepObject' && explode === false) without('explode', 'whose `style` is `deepObject`')
}

export function checkConst(arg: Arg, report: Reporter) {
  if (arg.const === undefined) return
  const keys = (['default', 'enum', 'required'] as const).filter((key) => arg[key])
  for (const key of keys)
    report(
      withoutEffect(
        [key],
        `for the argument ${quote(arg.name)}, whose value is always its \`const\``,
        'Remove one of the two',
      ),
    )
}

export function checkWireNames(tool: Tool, report: Reporter, context: Context) {
  const isForm = mediaTypeOf(tool, context.configuration.servers[0]) === 'application/x-www-form-urlencoded'
  const seen = new Map<string, number>()
  for (const [i, arg] of tool.args.entries()) {
    const { name, position, as, style } = arg
    const without = (key: 'as' | 'style' | 'explode', why: string, hint = 'Remove it') =>
      report(withoutEffect(['args', i, key], `for the argument ${quote(name)}${why}`, hint))
    const given = (['as', 'style', 'explode'] as const).filter((key) => arg[key] !== undefined)
    if (position === 'path') {
      if (as !== undefined && style !== 'matrix')
        without('as', ' of position `path`: the endpoint names it by `name`', 'Rename it in the endpoint')
      const isRight = style === undefined || STYLES.path.includes(style)
      for (const key of !isRight || isIn(tool.endpoint, name, true)
        ? []
        : given.filter((one) => one !== 'as'))
        without(key, ', which does not stand by itself in the endpoint', `Write ${quote(action(name))}`)
      continue
    }
    if (position === 'query' && isIn(tool.endpoint, name)) {
      for (const key of given) without(key, ', which the endpoint names itself')
      continue
    }
    if (position === 'body' && tool.requestBody !== undefined) {
      for (const key of given) without(key, ', which `requestBody` writes')
      continue
    }
    if (position === 'body' && !isForm)
      for (const key of given.filter((one) => one !== 'as'))
        without(key, ': the body is JSON', 'Remove it, or send a form by a `Content-Type`')
    const wire = position === 'header' ? wireName(arg).toLowerCase() : wireName(arg)
    const key = `${position} ${wire}`
    const first = seen.get(key)
    if (first === undefined) seen.set(key, i)
    else if (as !== undefined || tool.args[first]!.as !== undefined)
      report({
        code: 'duplicate-name',
        path: ['args', i, as === undefined ? 'name' : 'as'],
        message: `two arguments of ${quote(tool.name)} are sent as ${quote(wireName(arg))}`,
        hint: 'Give one of the two another name by `as`',
        related: {
          path: ['args', first, tool.args[first]!.as === undefined ? 'name' : 'as'],
          message: 'the first one',
        },
      })
  }
}

/** Whether an endpoint contains an argument. @param alone as an action of its own */
function isIn(endpoint: string, name: string, alone = false): boolean {
  const field = name.replace(/[^\w]/g, '\\$&')
  const read = `(?:\\.Args\\.${field}(?![\\w.])|index\\s+\\.Args\\s+"${field}")`
  return new RegExp(alone ? `\\{\\{-?\\s*${read}\\s*-?\\}\\}` : read).test(endpoint)
}

function action(name: string): string {
  return isIdentifier(name) ? `{{.Args.${name}}}` : `{{index .Args "${name}"}}`
}
