import { isJsonType } from '../../text/index.ts'
import type { Place } from '../types.ts'

const FORM = 'application/x-www-form-urlencoded'
/** A JSON value on each line, or after each record separator. */
const JSON_LINES =
  /^(?:application|text)\/(?:x-)?(?:ndjson|ldjson|jsonl|jsonlines|json-lines|json-seq)$|\+(?:x-)?(?:ndjson|jsonl|json-seq)$|^application\/stream\+json$/
const XML = /^(?:application|text)\/xml$|\+xml$/

/**
 * The escaping of values in a body of this media type (in lower case).
 * @param mediaType undefined: known only at a call
 */
export function bodyPlace(mediaType: string | undefined): Place {
  if (mediaType === undefined || mediaType === 'text/plain') return 'auto-body'
  if (mediaType === FORM) return 'form'
  if (JSON_LINES.test(mediaType)) return 'json-lines'
  if (isJsonType(mediaType)) return 'json'
  return XML.test(mediaType) ? 'xml' : 'verbatim'
}
