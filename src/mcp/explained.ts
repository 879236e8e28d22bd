import { isObject, parseVerbatim, stringify } from '../json/index.ts'

/** The text of a response that refuses arguments, with what the tool takes: who called it may never have seen its schema. */
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
