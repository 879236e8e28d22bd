import { isObject, parseVerbatim, stringify } from '../json/index.ts'

/** Adds the tool's signature to a response that refuses arguments, as the caller may not have seen the schema. */
export function explained(text: string, signature: string): string {
  const raw = parseVerbatim(text)
  if (!isObject(raw)) return text
  const { result, error } = raw
  const said = `Signature: ${signature}`
  if (isObject(result) && Array.isArray(result.content))
    return stringify({
      ...raw,
      result: { ...result, content: [...result.content, { type: 'text', text: said }] },
    })
  return isObject(error)
    ? stringify({ ...raw, error: { ...error, message: `${error.message}. ${said}` } })
    : text
}
