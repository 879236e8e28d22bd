import type { ErrorObject } from 'ajv'
import { type Finding, toFinding } from '../findings/index.ts'
import type { Json } from '../json/index.ts'
import { nearest } from '../text/index.ts'
import { type Advice, adviseOn, directions, ownerOf, written } from './misplaced.ts'
import type { Locate, Path } from './model.ts'
import { describer, pointerPath, schemaFinding, sureChoice, unknownKeys } from './schema-findings.ts'
import type { LoadedSchema } from './schemas.ts'
import { shapeAt } from './shape.ts'
import type { Nodes, YamlNode } from './yaml/places.ts'

interface Checked {
  file: string
  text: string
  value: Json
  schema: LoadedSchema
  locate: Locate
  nodes: Nodes
  /** Nodes that have a finding about their value already. */
  reportedNodes: ReadonlySet<YamlNode>
}

interface Unknown {
  path: Path
  keys: string[]
  advice: Advice
}

/**
 * Reports the errors of one validation, each mistake once.
 * @param most findings
 * @returns keys that the file has in a wrong place, by their right one, such as `routers[].prefix`
 */
export function reportErrors(
  errors: readonly ErrorObject[],
  { nodes, reportedNodes, ...read }: Checked,
  findings: Finding[],
  most: number,
): ReadonlySet<string> {
  const { schema, value } = read
  const context = { ...read, describe: describer(nodes) }
  const unsure = objectsOfUnknownType(errors, value, schema)
  const unknown = groupsOf(
    errors.filter((one) => one.keyword === 'additionalProperties' && !unsure.has(one.instancePath)),
    value,
    schema,
  )
  const groups = [...unknown.values()]
  const renamed = new Set(groups.map(({ path, advice }) => JSON.stringify([...path, advice.means])))
  const misplaced = new Set(
    groups.flatMap(({ advice: { home } }) => (home ? [written([...home.owner, home.key])] : [])),
  )
  for (const error of errors) {
    if (findings.length > most) break
    const { keyword, instancePath } = error
    const path = pointerPath(instancePath, value)
    const node = nodes.at(path)
    if (node && reportedNodes.has(node)) continue
    if (unsure.has(instancePath) && /^(?:required|additionalProperties|if)$/.test(keyword)) continue
    if (keyword === 'additionalProperties') {
      const group = unknown.get(error)
      if (group) findings.push(toFinding(unknownKeys(group, schema), context))
      continue
    }
    const missing = error.params.missingProperty as string | undefined
    if (missing && renamed.has(JSON.stringify([...path, missing]))) continue
    if (missing && misplaced.has(written([...ownerOf(path, schema), missing]))) continue
    const found = schemaFinding(error, context)
    if (found) findings.push(toFinding(found, context))
  }
  return misplaced
}

/** The unknown keys of one object that are one mistake, by the error of the first. */
function groupsOf(
  errors: readonly ErrorObject[],
  value: Json,
  schema: LoadedSchema,
): Map<ErrorObject, Unknown> {
  const groups = new Map<ErrorObject, Unknown>()
  const open = new Map<string, Unknown>()
  for (const error of errors) {
    const path = pointerPath(error.instancePath, value)
    const key = error.params.additionalProperty as string
    const advice = adviseOn(error, path, schema)
    const { home, suggestion, isList } = advice
    const cure = home ? written(home.owner) : (suggestion ?? advice.hint)
    const known = isList ? undefined : open.get(`${error.instancePath} ${cure}`)
    if (known) {
      known.keys.push(key)
      if (home) known.advice = { ...advice, hint: directions(known.keys, home, path, schema) }
      continue
    }
    const group = { path, keys: [key], advice }
    groups.set(error, group)
    open.set(`${error.instancePath} ${cure}`, group)
  }
  return groups
}

/** Pointers to objects whose `type` is unknown, so that it is not known which keys they need. */
function objectsOfUnknownType(
  errors: readonly ErrorObject[],
  value: Json,
  { shape }: LoadedSchema,
): Set<string> {
  const wrong = errors.filter(({ keyword, instancePath, data, params }) => {
    if (keyword !== 'enum' || !instancePath.endsWith('/type') || typeof data !== 'string') return false
    if (!shapeAt(shape, pointerPath(instancePath, value).slice(0, -1)).required.has('type')) return false
    const allowed = (params.allowedValues as unknown[]).map(String)
    return sureChoice(data, allowed) === undefined && nearest(data, allowed) === undefined
  })
  return new Set(wrong.map(({ instancePath }) => instancePath.slice(0, -'/type'.length)))
}
