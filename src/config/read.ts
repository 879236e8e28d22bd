import type { ErrorObject } from 'ajv'
import type { Node } from 'yaml'
import { type Finding, finding, hasErrors, sortFindings, toFinding } from '../findings/index.ts'
import { type Json, withoutComments } from '../json/index.ts'
import { inOneGo } from '../telemetry/loop-delay.ts'
import { atOnce, type Steps, sizeText } from '../text/index.ts'
import { withArgumentCures } from './argument-variables.ts'
import { readArguments } from './arguments.ts'
import { buildConfiguration } from './build.ts'
import { foreignFile, hintForLarge } from './foreign-file.ts'
import type { Env, Locate, ReadConfiguration, Source } from './model.ts'
import { type Repaired, repair } from './repair.ts'
import { describer, meantKey, pointerPath, schemaFinding } from './schema-findings.ts'
import { isValid, type LoadedSchema, loadSchema, type SchemaName, schemaErrorsOf } from './schemas.ts'
import { commonLocator } from './yaml/common-places.ts'
import { type Common, placesIn, readCommonYaml } from './yaml/common-yaml.ts'
import { MAX_FILE_SIZE, type Parsed, parsedBefore, parseYaml } from './yaml/document.ts'
import { lateLocator, locator, type Nodes, nodesOf } from './yaml/locate.ts'
import { readValues, type Values } from './yaml/yaml-values.ts'

/**
 * Reads one configuration: YAML, environment variables, schema. What its fields say about each other, and what its
 * names refer to, is checked by the room above. Never throws.
 */
export function* configurationSteps(source: Source, env: Env): Steps<ReadConfiguration> {
  const { file } = source
  const sound = inOneGo('read a configuration', file, () => soundValue(source, env))
  if (sound) {
    yield
    return soundConfiguration(source, env, sound)
  }
  const read = yield* schemaFileSteps(source, env, 'configuration')
  yield
  const { findings } = read
  const repaired = wanting(read) ? repairedOf(read, source) : undefined
  // What was repaired must never pass for sound.
  if (wanting(read) && (!repaired || !hasErrors(findings))) {
    const rest = { locate: read.locate, doubtful: () => false }
    return { ...source, configuration: undefined, findings: limited(findings, file), ...rest }
  }
  const { value: whole, nodes, doubtful } = repaired ?? { ...read, doubtful: () => false }
  // Trees of nodes are many times as large as their text: what may be served for long keeps none.
  const locate = repaired
    ? read.locateBy(nodes)
    : lateLocator(source, () => locatorOf(source, env), { locate: read.locate, given: read.locate.has })
  const configuration = buildConfiguration(whole)
  yield
  const context = { file, text: source.text, nodes, locate, findings, doubtful }
  readArguments(configuration.tools, context)
  return { ...source, configuration, findings: limited(findings, file), locate, doubtful }
}

/** The value of a configuration without findings of its text and schema; undefined: not known. */
function soundValue({ file, text }: Source, env: Env): Common | undefined {
  if (withoutComments(text)) return undefined
  const schema = loadSchema('configuration')
  const read = readCommonYaml(text, env, schema.shape)
  if (!read || read.value === null || foreignFile(read.value, 'configuration', file)) return undefined
  return isValid(read.value, text.length, schema) ? read : undefined
}

function soundConfiguration(source: Source, env: Env, { value, given }: Common): ReadConfiguration {
  const { file, text } = source
  const locate = lateLocator(source, () => commonLocatorOf(source, env), { given })
  const doubtful = () => false
  const nodes = lateNodes(source, env)
  const findings: Finding[] = []
  const configuration = buildConfiguration(value)
  readArguments(configuration.tools, { file, text, nodes, locate, findings, doubtful })
  return { ...source, configuration, findings: limited(findings, file), locate, doubtful }
}

/** The nodes of a text, which is parsed when the first of them is wanted. */
function lateNodes(source: Source, env: Env): Nodes {
  let nodes: Nodes | undefined
  const open = () => {
    nodes ??= atOnce(openFile(source, env, loadSchema('configuration'))).nodes
    return nodes
  }
  return { at: (path) => open().at(path), key: (path) => open().key(path) }
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
  /** The value has the form that the schema wants, unknown keys apart. */
  sound: boolean
  /** There is no value: the file is no YAML, or empty. */
  broken: boolean
  /** What the schema says of the value, up to `MAX_FINDINGS`. */
  errors: ErrorObject[]
  /** Nodes whose values are not what was meant, as their own findings say. */
  spoilt: ReadonlySet<Node>
  /** A `locate` by other paths. */
  locateBy: (nodes: Nodes) => Locate
}

interface OpenFile {
  parsed: Parsed
  broken: boolean
  values: Values
  nodes: Nodes
  locateBy: SchemaFile['locateBy']
}

/** The tree of a file and its values, with what is wrong with the YAML. */
function* openFile(source: Source, env: Env, { shape }: LoadedSchema): Steps<OpenFile> {
  const size = source.text.length > MAX_FILE_SIZE
  const commented = size ? undefined : withoutComments(source.text)
  const before = parsedBefore(source)
  const parsed = before ?? (yield* parseYaml(size ? { ...source, text: '' } : { ...source, ...commented }))
  yield
  const { findings } = parsed
  if (commented) findings.push(commentFinding(source, commented.first, parsed))
  if (size) findings.push(fileTooLarge(source, MAX_FILE_SIZE))
  const broken = size || findings.some(({ code }) => code !== 'yaml-warning' && code !== 'not-json')
  // A file of another kind is recognized by its first document, and without its comments.
  const unread = broken && findings.some(({ code }) => code !== 'several-documents') && !commented
  const values = readValues(source, env, unread ? { ...parsed, root: null } : parsed, shape)
  const nodes = nodesOf(unread ? null : parsed.root, values.aliases)
  const locateBy = (by: Nodes) => locator(source, env, parsed, by)
  return { parsed, broken, values, nodes, locateBy }
}

/** @param max bytes */
export function fileTooLarge({ file, text }: Source, max: number): Finding {
  return finding('file-too-large', file, `the file is larger than ${sizeText(max)}`, {
    hint: hintForLarge(text, file),
  })
}

function commentFinding({ file, text }: Source, [start, end]: [number, number], { range }: Parsed): Finding {
  const message = 'this is JSON with comments, and neither JSON nor YAML has comments of this form'
  const isLine = text.startsWith('//', start)
  const hint = isLine ? 'Write `#` instead of `//`' : 'Write `#` before each of its lines'
  return finding('yaml-syntax', file, message, { range: range(start, end), hint })
}

function locatorOf(source: Source, env: Env): Locate {
  const { nodes, locateBy } = atOnce(openFile(source, env, loadSchema('configuration')))
  return locateBy(nodes)
}

/** The same for a text that the common reader could read. */
function commonLocatorOf(source: Source, env: Env): Locate {
  const places = placesIn(source.text, env, loadSchema('configuration').shape)
  let exact: Locate | undefined
  const open = () => {
    exact ??= locatorOf(source, env)
    return exact
  }
  return places ? commonLocator(source.text, places, open) : open()
}

/** Reads a YAML file that one of the schemas describes. */
export function readSchemaFile(source: Source, env: Env, name: SchemaName): SchemaFile {
  return atOnce(schemaFileSteps(source, env, name))
}

function* schemaFileSteps(source: Source, env: Env, name: SchemaName): Steps<SchemaFile> {
  const schema = loadSchema(name)
  const { parsed, broken, values, nodes, locateBy } = yield* openFile(source, env, schema)
  yield
  const { findings } = parsed
  const { value, spoilt } = values
  const locate = locateBy(nodes)
  const result = { value, findings, locate, nodes, sound: false, broken: true, errors: [], spoilt, locateBy }
  const foreign = name !== 'lint' && foreignFinding(values.value, name, source, locate)
  if (foreign) return { ...result, findings: [foreign] }
  if (broken) return result
  const told =
    name === 'configuration' ? withArgumentCures(values.findings, value, nodes, source) : values.findings
  for (const found of told) findings.push(found)
  if (parsed.root === null || (value === null && values.findings.length === 0)) {
    // Settings may all be left out.
    if (name !== 'configuration') return { ...result, value: {}, sound: true, broken: false }
    const hint = 'Write a configuration with at least `name`, or remove the file'
    findings.push(finding('empty-file', source.file, 'the file contains no configuration', { hint }))
    return result
  }
  const errors = schemaErrorsOf(value, source.text.length, schema, nodes, MAX_FINDINGS)
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
