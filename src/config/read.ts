import type { ErrorObject } from 'ajv'
import { type Finding, finding, hasErrors, type Place, sortFindings, toFinding } from '../findings/index.ts'
import { type Json, type JsonObject, valueAt, withoutComments } from '../json/index.ts'
import { quote, sizeText } from '../text/index.ts'
import { readArguments, withArgumentCures } from './arguments.ts'
import { buildConfiguration } from './build.ts'
import { foreignFile, hintForLarge } from './foreign-file.ts'
import type { Env, Locate, Path, ReadConfiguration, Source } from './model.ts'
import REMOVED from './removed-keys.json' with { type: 'json' }
import { type Repaired, repair } from './repair.ts'
import { reportErrors } from './report-errors.ts'
import { pointerPath } from './schema-findings.ts'
import { loadSchema, type SchemaName, schemaErrorsOf } from './schemas.ts'
import type { SchemaNode } from './shape.ts'
import { withRouter } from './short-form.ts'
import { locator, type Nodes, nodesOf, type YamlNode } from './yaml/places.ts'
import { MAX_FILE_SIZE, type Parsed, parseYaml } from './yaml/syntax.ts'
import { readValues } from './yaml/values.ts'

/**
 * Reads one configuration: YAML, environment variables, schema. The room `checks` checks how its fields fit each
 * other, and what its names refer to. Never throws.
 */
export function parseConfiguration(source: Source, env: Env): ReadConfiguration {
  const { file, text } = source
  const read = readSchemaFile(source, env, 'configuration')
  const { findings } = read
  const repaired = needsRepair(read) ? repairedOf(read, source) : undefined
  // A repaired configuration must never count as valid.
  if (needsRepair(read) && (!repaired || !hasErrors(findings))) {
    const rest = { locate: read.locate, isRepaired: () => false }
    return { ...source, configuration: undefined, findings: limited(findings, file), ...rest }
  }
  const { value, faults, ...short } = withRouter((repaired ?? read).value as JsonObject, repaired?.isRepaired)
  const isRepaired = (path: Path) =>
    short.isRepaired(path) ||
    repaired?.isRepaired(path) === true ||
    repaired?.isRepaired(short.place(path)) === true
  const { at, key } = repaired?.nodes ?? lateNodes(source, env, read.nodes)
  const nodes: Nodes = { at: (path) => at(short.place(path)), key: (path) => key(short.place(path)) }
  const locate = locator(text, env, read.range, nodes)
  findings.push(...faults.map((fault) => toFinding(fault, { file, text, locate })))
  const configuration = buildConfiguration(value)
  readArguments(configuration.tools, { file, text, nodes, locate, findings, isRepaired })
  return { ...source, configuration, findings: limited(findings, file), locate, isRepaired }
}

/** The nodes of the last two files, as a finding about two files names places in both. */
let recent: readonly { late: Nodes; nodes: Nodes }[] = []

/**
 * The nodes of a configuration, which are parsed again for later use: they take many times the memory of the text,
 * and most are used while the file is read, or never.
 */
function lateNodes(source: Source, env: Env, now: Nodes): Nodes {
  const get = () => {
    const known = recent.find((one) => one.late === late)
    const nodes = known?.nodes ?? readSchemaFile(source, env, 'configuration').nodes
    if (recent[0]?.late !== late)
      recent = [{ late, nodes }, ...recent.filter((one) => one.late !== late)].slice(0, 2)
    return nodes
  }
  const late: Nodes = { at: (path) => get().at(path), key: (path) => get().key(path) }
  recent = [{ late, nodes: now }, ...recent].slice(0, 2)
  return late
}

function needsRepair({ matchesSchema, errors, reportedNodes }: SchemaFile): boolean {
  return !matchesSchema || errors.length > 0 || reportedNodes.size > 0
}

function repairedOf(read: SchemaFile, { file, text }: Source): Repaired | undefined {
  const schema = loadSchema('configuration')
  return read.isUnreadable ? undefined : repair({ ...read, file, size: text.length, schema }, MAX_FINDINGS)
}

/** More findings of one file do not help its author. */
export const MAX_FINDINGS = 1000

/** Sorted, and cut where there are too many, with a finding that says so. */
export function limited(findings: readonly Finding[], file: string): Finding[] {
  const sorted = sortFindings(findings)
  if (sorted.length <= MAX_FINDINGS || sorted.some(({ code }) => code === 'too-many-findings')) return sorted
  const rank = ({ severity }: Finding) => (severity === 'error' ? 0 : 1)
  const kept = [...sorted].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_FINDINGS)
  return sortFindings([tooMany(file), ...kept])
}

function tooMany(file: string): Finding {
  const message = 'this file has more findings than are shown'
  return finding('too-many-findings', file, message, { hint: 'Fix these, then check again' })
}

interface SchemaFile {
  value: Json
  findings: Finding[]
  locate: Locate
  nodes: Nodes
  range: Parsed['range']
  /** Whether the value matches the schema, apart from unknown keys. */
  matchesSchema: boolean
  /** Whether there is no value: the file is not YAML, or empty. */
  isUnreadable: boolean
  /** Schema errors, up to `MAX_FINDINGS`. */
  errors: ErrorObject[]
  /** Nodes that have a finding about their value already. */
  reportedNodes: ReadonlySet<YamlNode>
  /** Keys that the file has in a wrong place, by their right one, such as `routers[].prefix`. */
  misplaced: ReadonlySet<string>
}

/** @param max bytes */
export function fileTooLarge({ file, text }: Source, max: number): Finding {
  return finding('file-too-large', file, `the file is larger than ${sizeText(max)}`, {
    hint: hintForLarge(text, file),
  })
}

function commentFinding(
  { file, text }: Source,
  [start, end]: [number, number],
  range: Parsed['range'],
): Finding {
  const message = 'this is JSON with comments, and neither JSON nor YAML has comments of this form'
  const isLine = text.startsWith('//', start)
  const hint = isLine ? 'Write `#` instead of `//`' : 'Write `#` before each of its lines'
  return finding('yaml-syntax', file, message, { range: range(start, end), hint })
}

/** Reads a YAML file that one of the schemas describes. */
export function readSchemaFile(source: Source, env: Env, name: SchemaName): SchemaFile {
  const { file, text } = source
  const schema = loadSchema(name)
  const isLarge = text.length > MAX_FILE_SIZE
  const commented = isLarge ? undefined : withoutComments(text)
  const plain = isLarge ? { file, text: '' } : { ...source, ...commented }
  const parsed = parseYaml(plain)
  const { findings, range } = parsed
  if (commented) findings.push(commentFinding(source, commented.first, range))
  if (isLarge) findings.push(fileTooLarge(source, MAX_FILE_SIZE))
  const isUnreadable = findings.some(({ code }) => code !== 'yaml-warning')
  const { value, root, reportedNodes, findings: told } = readValues(plain, env, parsed, schema.shape)
  const nodes = nodesOf(root)
  const locate = locator(text, env, range, nodes)
  const rest = { errors: [], reportedNodes, misplaced: new Set<string>() }
  const result = { value, findings, locate, nodes, range, matchesSchema: false, isUnreadable: true, ...rest }
  const foreign = name !== 'lint' && foreignFinding(value, name, source, locate)
  if (foreign) return { ...result, findings: [foreign] }
  if (isUnreadable) return result
  findings.push(...(name === 'configuration' ? withArgumentCures(told, value, nodes, source) : told))
  if (value === null && told.length === 0) {
    // All settings are optional.
    if (name !== 'configuration') return { ...result, value: {}, matchesSchema: true, isUnreadable: false }
    const hint = 'Write a configuration with at least `name`, or remove the file'
    findings.push(finding('empty-file', file, 'the file contains no configuration', { hint }))
    return result
  }
  const found = schemaErrorsOf(value, text.length, schema, nodes, MAX_FINDINGS)
  const errors = withoutRemovedKeys(found, name, { ...source, value, locate, findings })
  const matchesSchema = errors.every(({ keyword }) => keyword === 'additionalProperties')
  if (errors.length >= MAX_FINDINGS) findings.push(tooMany(file))
  const misplaced = reportErrors(errors, { ...result, ...source, schema }, findings, MAX_FINDINGS)
  return { ...result, matchesSchema, isUnreadable: false, errors, misplaced }
}

/** A file of another kind gets this finding only. */
function foreignFinding(
  value: Json,
  name: 'configuration' | 'settings',
  { file }: Source,
  locate: Locate,
): Finding | undefined {
  const foreign = foreignFile(value, name, file)
  if (!foreign) return undefined
  const { what, path, hint } = foreign
  const range = locate.key(path)
  const wanted = name === 'settings' ? 'settings of plantgw' : 'a configuration'
  return finding('wrong-file', file, `this is ${what}, not ${wanted}`, { ...(range && { range }), hint })
}

interface Read extends Place {
  /** Its removed keys are deleted. */
  value: Json
  findings: Finding[]
}

/**
 * Deletes the keys of `removed-keys.json` from the value, and turns their errors into warnings, so that files of
 * earlier versions are still served.
 * @returns the other errors
 */
function withoutRemovedKeys(
  errors: readonly ErrorObject[],
  file: SchemaName,
  { value, findings, ...place }: Read,
): ErrorObject[] {
  return errors.filter(({ instancePath, params, parentSchema }) => {
    const key: string | undefined = params.additionalProperty
    const { title } = (parentSchema ?? {}) as SchemaNode
    const removed = REMOVED.find((row) => row.file === file && row.in === title && row.key === key)
    if (!removed || key === undefined) return true
    const path = pointerPath(instancePath, value)
    delete (valueAt(value, path) as JsonObject)[key]
    const report = {
      code: 'removed-key' as const,
      path: [...path, key],
      isKey: true,
      message: `${quote(key)} was removed and is ignored: ${removed.now}`,
      hint: 'Remove the key',
    }
    findings.push(toFinding(report, place))
    return false
  })
}
