import { parseDocument } from 'yaml'
import { jsonFault } from '../checks/json-fault.ts'
import type { Source } from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import type { JsonObject } from '../json/index.ts'
import { isMap } from './document-values.ts'

export type Version = '2.0' | '3.0' | '3.1'

export type ReadDocument =
  | { document: JsonObject; version: Version; findings?: undefined; fault?: undefined }
  /** Not JSON or YAML: where. */
  | { document?: undefined; findings: Finding[]; fault?: undefined }
  /** Why it is not an OpenAPI document. */
  | { document?: undefined; fault: string; findings?: undefined }

/** At most so many faults are reported: those after the first often follow from it. */
const MAX_FAULTS = 5
/** The YAML parser takes time by the square of their number. */
const TAG_HEAP = /(?:[!&][^\s!&]{0,99}\s{1,99}){50}/

/** Reads JSON or YAML text as an OpenAPI 3.0 or 3.1 or a Swagger 2.0 document. Never throws. */
export function readDocument(source: Source): ReadDocument {
  const text = source.text.replace(/^\uFEFF/, '')
  const read = parseText({ ...source, text })
  if (read.findings) return { findings: read.findings }
  return versionOf(read.value)
}

function versionOf(document: unknown): ReadDocument {
  if (!isMap(document)) return { fault: 'the top level is not an object' }
  const { openapi, swagger } = document
  const version = String(openapi ?? swagger ?? '')
  if (openapi === undefined && swagger === undefined) {
    if (document.swaggerVersion !== undefined)
      return { fault: 'Swagger 1 is not supported: convert it to OpenAPI 3.0 first' }
    if (document.asyncapi !== undefined)
      return { fault: 'it is an AsyncAPI document, which does not describe HTTP calls' }
    return { fault: 'the top level has neither `openapi` nor `swagger`' }
  }
  if (!isMap(document.paths)) {
    if (isMap(document.webhooks)) return { fault: 'it describes only webhooks, which cannot be called' }
    return { fault: 'it has no `paths`' }
  }
  if (openapi === undefined)
    return /^2(\.|$)/.test(version)
      ? { document, version: '2.0' }
      : { fault: `Swagger ${version} is not supported` }
  if (/^3\.0(\.|$)/.test(version) || version === '3') return { document, version: '3.0' }
  // 3.2 adds to 3.1.
  if (/^3\.[1-9]/.test(version)) return { document, version: '3.1' }
  return {
    fault: `OpenAPI ${version.slice(0, 20)} is not supported; supported are OpenAPI 3.0 and 3.1, and Swagger 2.0`,
  }
}

/** JSON or YAML as values. Never throws. */
export function parseText(
  source: Source,
): { value: unknown; findings?: undefined } | { findings: Finding[] } {
  const { file, text } = source
  let ofJson: Finding | undefined
  if (/^\s*[{[]/.test(text)) {
    try {
      return { value: JSON.parse(text) }
    } catch {
      // It may be YAML that begins with a brace.
      const found = jsonFault(text)
      if (found) ofJson = fault(source, found.message, found.offset, found.offset + 1, found.hint)
    }
  }
  const tooMany = TAG_HEAP.exec(text)
  if (tooMany) return { findings: [fault(source, 'too many consecutive tags or anchors', tooMany.index)] }
  try {
    const doc = parseDocument(text, {
      schema: 'core',
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
      resolveKnownTags: false,
    })
    if (doc.errors.length > 0 && ofJson) return { findings: [ofJson] }
    if (doc.errors.length > 0)
      return {
        findings: doc.errors
          .slice(0, MAX_FAULTS)
          .map(({ message, pos }) => fault(source, lowerFirst(message).replace(/\.$/, ''), ...pos)),
      }
    return { value: doc.toJS({ maxAliasCount: 1000 }) }
  } catch (error) {
    const deep = error instanceof RangeError
    const message = deep ? 'it is nested too deeply' : `it cannot be read: ${(error as Error).message}`
    return { findings: [finding('yaml-syntax', file, message)] }
  }
}

function fault(
  { file, text }: Source,
  message: string,
  start: number,
  end = start + 1,
  hint?: string,
): Finding {
  const place = (offset: number) => {
    const before = text.slice(0, offset)
    const line = before.split('\n').length
    return { line, column: offset - before.lastIndexOf('\n'), offset }
  }
  return finding('yaml-syntax', file, message, {
    range: { start: place(start), end: place(end) },
    ...(hint !== undefined && { hint }),
  })
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
