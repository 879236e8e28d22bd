/** Types that are JSON and do not say so by `+json`. */
const JSON_TYPES = /^(?:application|text)\/json$|^application\/(?:csp-report|x-amz-json-1\.[01])$/

/** `application/json`, `application/problem+json` and their like; a media type in lower case. */
export function isJsonType(mediaType: string): boolean {
  return mediaType.endsWith('+json') || JSON_TYPES.test(mediaType)
}
