import type { Reporter } from '../../findings/index.ts'
import { isObject } from '../../json/index.ts'
import { nearest } from '../../text/index.ts'
import type { Args, ToolSubjects } from '../subjects.ts'
import { field, ROOTS } from './known-names.ts'
import type { Ref } from './walk.ts'

/**
 * Checks for unused arguments.
 * @param used references of each template, the endpoint's first
 * @param unset variables as written, `${id}`: their use is already reported
 */
export function checkUsage(
  { tool, path, args }: ToolSubjects,
  used: readonly (readonly Ref[])[],
  unset: ReadonlySet<string>,
  report: Reporter,
): void {
  const { names, whole } = argumentsRead(used.flat(), args)
  const endpoint = argumentsRead(used[0] ?? [], args)
  const isForm = tool.args.some(({ position }) => position === 'form-data')
  // A name reported as undeclared probably means an unused one: one mistake, one finding.
  const undeclared = (among: ReadonlySet<string>) => [...among].filter((name) => !args.schemas.has(name))
  const misspelt = meantBy(undeclared(names), [...args.schemas.keys()])
  let excused = undeclared(endpoint.names).length
  for (const [i, { name, position }] of tool.args.entries()) {
    const own = [...path, 'args', i, 'name']
    if (unset.has(`\${${name}}`)) continue
    if (position === 'path') {
      if (endpoint.names.has(name) || endpoint.whole || excused-- > 0) continue
      const message = `the endpoint does not contain the path argument \`${name}\``
      report({ code: 'template-path', path: own, message, hint: pathHint(tool.endpoint, name) })
      continue
    }
    if (position !== 'body' || names.has(name) || whole || misspelt.has(name)) continue
    if (!isForm && tool.requestBody === undefined) continue
    report({
      code: 'template-unused',
      path: own,
      message: unusedMessage(name),
      hint: isForm
        ? 'Give it the position `form-data`: a body argument is not sent with form-data arguments'
        : `Write \`{{${field('.Args', name)}}}\` into \`requestBody\`, or remove the argument`,
    })
  }
  const properties = tool.inputSchema?.properties
  if (!isObject(properties) || whole) return
  const declared = new Set(tool.args.map(({ name }) => name))
  for (const name of Object.keys(properties))
    if (!declared.has(name) && !names.has(name) && !unset.has(`\${${name}}`))
      report({
        code: 'template-unused',
        path: [...path, 'inputSchema', 'properties', name],
        message: unusedMessage(name),
        hint: 'Use it in a template, or declare it under `args` with a position',
      })
}

/** The names that the first 50 unknown words most likely mean; comparing more takes long. */
export function meantBy(words: readonly string[], names: readonly string[]): ReadonlySet<string | undefined> {
  return new Set(words.slice(0, 50).map((word) => nearest(word, names)))
}

export function unusedMessage(name: string): string {
  return `nothing uses the argument \`${name}\``
}

/** Arguments read by name; `whole`: all may be read. */
export function argumentsRead(refs: readonly Ref[], args: Args): { names: Set<string>; whole: boolean } {
  const names = new Set<string>()
  let whole = false
  for (const { path } of refs) {
    if (path.length === 0 || (path[0] === 'Args' && (path.length === 1 || path[1] === '*'))) whole = true
    else if (isArgs(path[0]!) && path[1] !== undefined) names.add(path[1])
    else if (args.schemas.has(path[0]!)) names.add(path[0]!)
  }
  return { names, whole }
}

/** `.Args`, or a name reported as its misspelling. */
function isArgs(root: string): boolean {
  if (ROOTS.includes(root)) return root === 'Args'
  return root.toLowerCase() === 'args' || nearest(root, ROOTS) === 'Args'
}

/** Other tools write `{id}`, `:id` or `${id}`. */
function pathHint(endpoint: string, name: string): string {
  const action = `{{${field('.Args', name)}}}`
  for (const written of [`\${${name}}`, `{${name}}`, `{.Args.${name}}`, `:${name}`, `<${name}>`])
    if (endpoint.includes(written)) return `Write \`${action}\` instead of \`${written}\``
  return `Write \`${action}\` where it belongs in the endpoint, or give it another position`
}
