import type { ErrorObject } from 'ajv'
import { type Finding, finding, hasErrors, sortFindings, toFinding } from '../findings/index.ts'
import { type Json, withoutComments } from '../json/index.ts'
import { sizeText } from '../text/index.ts'
import { withArgumentCures } from './argument-variables.ts'
import { readArguments } from './arguments.ts'
import { buildConfiguration } from './build.ts'
import { foreignFile, hintForLarge } from './foreign-file.ts'
import type { Env, Locate, ReadConfiguration, Source } from './model.ts'
import { type Repaired, repair } from './repair.ts'
import { describer, meantKey, pointerPath, schemaFinding } from './schema-findings.ts'
import { type LoadedSchema, loadSchema, type SchemaName, schemaErrorsOf } from './schemas.ts'
import { locator, type Nodes, nodesOf, type YamlNode } from './yaml/places.ts'
import { MAX_FILE_SIZE, type Parsed, parseYaml } from './yaml/syntax.ts'
import { readValues } from './yaml/values.ts'

/**
 * Reads one configuration: YAML, environment variables, schema. What its fields say about each other, and what its
 * names refer to, is checked by the room above. Never throws.
 */
export function parseConfiguration(source: Source, env: Env): ReadConfiguration {
  const { file, text } = source
  const read = readSchemaFile(source, env, 'configuration')
  const { findings } = read
  const repaired = wanting(read) ? repairedOf(read, source) : undefined
  // A repaired configuration must never count as valid.
  if (wanting(read) && (!repaired || !hasErrors(findings))) {
    const rest = { locate: read.locate, doubtful: () => false }
    return { ...source, configuration: undefined, findings: limited(findings, file), ...rest }
  }
  const { value, doubtful } = repaired ?? { value: read.value, doubtful: () => false }
  const nodes = repaired?.nodes ?? lateNodes(source, env, read.nodes)
  const locate = locator(text, env, read.range, nodes)
  const configuration = buildConfiguration(value)
  readArguments(configuration.tools, { file, text, nodes, locate, findings, doubtful })
  return { ...source, configuration, findings: limited(findings, file), locate, doubtful }
}

/** The nodes of the two files that were looked into last: findings about two files name places in both. */
let recent: readonly { late: Nodes; nodes: Nodes }[] = []

/**
 * The nodes of a configuration, which are read again when they are wanted later: they take many times the memory of the
 * text, and most places are asked for while the file is read, or never.
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

function wanting({ sound, errors, spoilt }: SchemaFile): boolean {
  return !sound || errors.length > 0 || spoilt.size > 0
}

function repairedOf(read: SchemaFile, { file, text }: Source): Repaired | undefined {
  const schema = loadSchema('configuration')
  return read.broken ? undefined : repair({ ...read, file, size: text.length, schema }, MAX_FINDINGS)
}

/** More findings of one file do not help its author. */
const MAX_FINDINGS = 1000

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

export interface SchemaFile {
  value: Json
  findings: Finding[]
  locate: Locate
  nodes: Nodes
  range: Parsed['range']
  /** The value has the form that the schema wants, unknown keys apart. */
  sound: boolean
  /** There is no value: the file is no YAML, or empty. */
  broken: boolean
  /** Schema errors, up to `MAX_FINDINGS`. */
  errors: ErrorObject[]
  /** Nodes whose values are not what was meant, as their own findings say. */
  spoilt: ReadonlySet<YamlNode>
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
  const broken = findings.some(({ code }) => code !== 'yaml-warning')
  const { value, root, spoilt, findings: told } = readValues(plain, env, parsed, schema.shape)
  const nodes = nodesOf(root)
  const locate = locator(text, env, range, nodes)
  const result = { value, findings, locate, nodes, range, sound: false, broken: true, errors: [], spoilt }
  const foreign = name !== 'lint' && foreignFinding(value, name, source, locate)
  if (foreign) return { ...result, findings: [foreign] }
  if (broken) return result
  findings.push(...(name === 'configuration' ? withArgumentCures(told, value, nodes, source) : told))
  if (value === null && told.length === 0) {
    // Settings may all be left out.
    if (name !== 'configuration') return { ...result, value: {}, sound: true, broken: false }
    const hint = 'Write a configuration with at least `name`, or remove the file'
    findings.push(finding('empty-file', file, 'the file contains no configuration', { hint }))
    return result
  }
  const errors = schemaErrorsOf(value, text.length, schema, nodes, MAX_FINDINGS)
  const sound = errors.every(({ keyword }) => keyword === 'additionalProperties')
  reportErrors(errors, { ...result, ...source, schema })
  return { ...result, sound, broken: false, errors }
}

/** A file of another kind is one mistake, whatever is in it. */
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

type Checked = SchemaFile & Source & { schema: LoadedSchema }

function reportErrors(errors: readonly ErrorObject[], { findings, nodes, spoilt, ...read }: Checked) {
  if (errors.length >= MAX_FINDINGS) findings.push(tooMany(read.file))
  const context = { ...read, describe: describer(nodes) }
  const misspelt = misspeltKeys(errors)
  for (const error of errors) {
    if (findings.length > MAX_FINDINGS) return
    const node = nodes.at(pointerPath(error.instancePath, read.value))
    if (node && spoilt.has(node)) continue
    const { missingProperty } = error.params
    if (missingProperty && misspelt.has(`${error.instancePath} ${missingProperty}`)) continue
    const found = schemaFinding(error, context)
    if (found) findings.push(toFinding(found, context))
  }
}

/** A key that is missing because it is misspelt is reported once, as an unknown key. */
function misspeltKeys(errors: readonly ErrorObject[]): Set<string> {
  const unknown = errors.filter(({ keyword }) => keyword === 'additionalProperties')
  return new Set(unknown.slice(0, MAX_FINDINGS).map((error) => `${error.instancePath} ${meantKey(error)}`))
}
