import type { ErrorObject } from 'ajv'
import type { Node } from 'yaml'
import { type Finding, finding, hasErrors, sortFindings, toFinding } from '../findings/index.ts'
import type { Json } from '../json/index.ts'
import { atOnce, nearest, type Steps } from '../text/index.ts'
import { readArguments } from './arguments.ts'
import { buildConfiguration } from './build.ts'
import type { Env, Locate, ReadConfiguration, Source } from './model.ts'
import { type Repaired, repair } from './repair.ts'
import { describer, pointerPath, schemaFinding } from './schema-findings.ts'
import { type LoadedSchema, loadSchema, type SchemaName, type SchemaNode, schemaErrorsOf } from './schemas.ts'
import { MAX_FILE_SIZE, type Parsed, parseYaml } from './yaml/document.ts'
import { lateLocator, locator, type Nodes, nodesOf } from './yaml/locate.ts'
import { readValues, type Values } from './yaml/yaml-values.ts'

/**
 * Reads one configuration: YAML, environment variables, schema. What its fields say about each other, and what its
 * names refer to, is checked by the room above. Never throws.
 */
export function* configurationSteps(source: Source, env: Env): Steps<ReadConfiguration> {
  const { file } = source
  const read = yield* schemaFileSteps(source, env, 'configuration')
  yield
  const { findings } = read
  const repaired = wanting(read) ? repairedOf(read, source) : undefined
  // What was repaired must never pass for sound.
  if (wanting(read) && (!repaired || !hasErrors(findings))) {
    const rest = { locate: read.locate, doubtful: () => false }
    return { ...source, configuration: undefined, findings: limited(findings, file), ...rest }
  }
  const { value, nodes, doubtful } = repaired ?? { ...read, doubtful: () => false }
  // Trees of nodes are many times as large as their text: what may be served for long keeps none.
  const locate = repaired
    ? read.locateBy(nodes)
    : lateLocator(source, () => locatorOf(source, env), read.locate)
  const configuration = buildConfiguration(value)
  yield
  const context = { file, text: source.text, nodes, locate, findings, doubtful }
  readArguments(configuration.tools, context)
  return { ...source, configuration, findings: limited(findings, file), locate, doubtful }
}

function wanting({ sound, errors, spoilt }: SchemaFile): boolean {
  return !sound || errors.length > 0 || spoilt.size > 0
}

function repairedOf(read: SchemaFile, { file, text }: Source): Repaired | undefined {
  const schema = loadSchema('configuration')
  return read.broken ? undefined : repair({ ...read, file, size: text.length, schema }, MAX_FINDINGS)
}

/** More findings than these of one file help nobody. */
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
  const parsed = yield* parseYaml(size ? { ...source, text: '' } : source)
  yield
  const { findings } = parsed
  if (size)
    findings.push(
      finding('file-too-large', source.file, 'the file is larger than 4 MiB', { hint: 'Split it' }),
    )
  const broken = size || findings.some(({ code }) => code !== 'yaml-warning' && code !== 'not-json')
  const values = readValues(source, env, broken ? { ...parsed, root: null } : parsed, shape)
  const nodes = nodesOf(broken ? null : parsed.root, values.aliases)
  const locateBy = (by: Nodes) => locator(source, env, parsed, by)
  return { parsed, broken, values, nodes, locateBy }
}

function locatorOf(source: Source, env: Env): Locate {
  const { nodes, locateBy } = atOnce(openFile(source, env, loadSchema('configuration')))
  return locateBy(nodes)
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
  if (broken) return result
  for (const found of values.findings) findings.push(found)
  if (parsed.root === null || (value === null && values.findings.length === 0)) {
    // Settings may all be left out.
    if (name !== 'configuration') return { ...result, value: {}, sound: true, broken: false }
    const hint = 'Write a configuration with at least `name`, or remove the file'
    findings.push(finding('empty-file', source.file, 'the file contains no configuration', { hint }))
    return result
  }
  const errors = schemaErrorsOf(value, source.text.length, schema, nodes, MAX_FINDINGS)
  const sound = errors.every(({ keyword }) => keyword === 'additionalProperties')
  if (name === 'configuration' && isSettings(value, schema)) {
    const [first = ''] = Object.keys(value as object)
    const range = locate.key([first])
    const hint = 'Pass it with `--settings`, and keep it out of the folders of configurations'
    const message = 'this is a settings file, not a configuration'
    findings.push(finding('missing-key', source.file, message, { ...(range && { range }), hint }))
    return { ...result, sound: false, broken: false, errors }
  }
  reportErrors(errors, { ...result, ...source, schema })
  return { ...result, sound, broken: false, errors }
}

/** Keys at the top of settings, and none of a configuration. */
function isSettings(value: Json, { schema: { properties: own = {} } }: LoadedSchema): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const keys = Object.keys(value).filter((key) => key !== 'notifier' && !key.startsWith('x-'))
  if (keys.length === 0 || keys.some((key) => key in own)) return false
  const known = loadSchema('settings').schema.properties ?? {}
  return keys.every((key) => key in known)
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
  return new Set(
    unknown.slice(0, MAX_FINDINGS).map(({ instancePath, params, parentSchema }) => {
      const known = Object.keys((parentSchema as SchemaNode).properties ?? {})
      return `${instancePath} ${nearest(params.additionalProperty, known)}`
    }),
  )
}
