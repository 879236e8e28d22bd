import type { Path } from '../../config/index.ts'
import type { Finding } from '../../findings/index.ts'
import { isObject } from '../../json/index.ts'
import { nearest } from '../../text/index.ts'
import type { Args, ToolSubjects } from '../subjects.ts'
import { field, ROOTS } from './names.ts'
import type { Ref } from './walk.ts'

export type ReportAt = (code: Finding['code'], path: Path, message: string, hint: string) => void

/** The references of one template, by the key of the tool that holds it. */
export interface Used {
  key: string
  refs: readonly Ref[]
}

/** Arguments that reach nothing. */
export function checkUsage(
  { tool, path, args }: ToolSubjects,
  used: readonly Used[],
  report: ReportAt,
): void {
  const { names, whole } = namesOf(
    used.flatMap(({ refs }) => refs),
    args,
  )
  const endpoint = namesOf(used.find(({ key }) => key === 'endpoint')?.refs ?? [], args)
  const isForm = tool.args.some(({ position }) => position === 'form-data')
  // A name that is told as undeclared is most likely one of those that nothing uses: one mistake, one finding.
  const undeclared = (among: ReadonlySet<string>) => [...among].filter((name) => !args.schemas.has(name))
  const misspelt = new Set(undeclared(names).map((name) => nearest(name, args.schemas.keys())))
  let excused = undeclared(endpoint.names).length
  for (const [i, { name, position }] of tool.args.entries()) {
    if (position === 'path') {
      if (endpoint.names.has(name) || endpoint.whole || excused-- > 0) continue
      report(
        'template-path',
        [...path, 'args', i, 'name'],
        `the endpoint does not hold the path argument \`${name}\``,
        pathHint(tool.endpoint, name),
      )
      continue
    }
    if (position !== 'body' || names.has(name) || whole || misspelt.has(name)) continue
    if (!isForm && tool.requestBody === undefined) continue
    const message = `nothing uses the argument \`${name}\``
    const hint = isForm
      ? 'Give it the position `form-data`: a body argument is not sent with form-data arguments'
      : `Write \`{{${field('.Args', name)}}}\` into \`requestBody\`, or remove the argument`
    report('template-unused', [...path, 'args', i, 'name'], message, hint)
  }
  const properties = tool.inputSchema?.properties
  if (!isObject(properties) || whole) return
  const declared = new Set(tool.args.map(({ name }) => name))
  for (const name of Object.keys(properties)) {
    if (declared.has(name) || names.has(name)) continue
    const hint = 'Use it in a template, or declare it under `args` with a position'
    report(
      'template-unused',
      [...path, 'inputSchema', 'properties', name],
      `nothing uses the argument \`${name}\``,
      hint,
    )
  }
}

/** The arguments that are read by name; `whole` when all of them may be. */
export function namesOf(refs: readonly Ref[], args: Args): { names: Set<string>; whole: boolean } {
  const names = new Set<string>()
  let whole = false
  for (const { path } of refs) {
    if (path.length === 0 || (path[0] === 'Args' && (path.length === 1 || path[1] === '*'))) whole = true
    else if (isArgs(path[0]!) && path[1] !== undefined) names.add(path[1])
    else if (args.schemas.has(path[0]!)) names.add(path[0]!)
  }
  return { names, whole }
}

/** `.Args`, or what is told to be a misspelt one. */
function isArgs(root: string): boolean {
  if (ROOTS.includes(root)) return root === 'Args'
  return root.toLowerCase() === 'args' || nearest(root, ROOTS) === 'Args'
}

/** Other tools write `{id}`, `:id` or `${id}`. */
function pathHint(endpoint: string, name: string): string {
  const action = `{{${field('.Args', name)}}}`
  for (const written of [`\${${name}}`, `{${name}}`, `:${name}`, `<${name}>`])
    if (endpoint.includes(written)) return `Write \`${action}\` instead of \`${written}\``
  return `Write \`${action}\` where it belongs in the endpoint, or give it another position`
}
