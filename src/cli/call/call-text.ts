import { isObject, type JsonObject, stringify } from '../../json/index.ts'
import { printable } from './tools.ts'

/** A tool's result for people: its texts as they are, a line for what is no text. Ends with a line break. */
export function contentText(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : []
  const lines = content.flatMap((block) => (isObject(block) ? [blockText(block)] : []))
  if (lines.length === 0 && result.structuredContent !== undefined)
    lines.push(stringify(result.structuredContent))
  return lines.length ? `${lines.join('\n')}\n` : ''
}

function blockText(block: JsonObject): string {
  const { type } = block
  if (type === 'text') return printable(String(block.text))
  if (type === 'resource_link') return `[resource ${printable(String(block.uri))}]`
  if (type === 'resource' && isObject(block.resource)) {
    const { uri, text, blob, mimeType } = block.resource
    if (typeof text === 'string') return `[resource ${printable(String(uri))}]\n${printable(text)}`
    return `[resource ${printable(String(uri))}: ${sizeOf(blob)}${mimeType ? `, ${printable(String(mimeType))}` : ''}]`
  }
  if (type === 'image' || type === 'audio')
    return `[${type}: ${sizeOf(block.data)}, ${printable(String(block.mimeType))}; see --json]`
  return printable(stringify(block))
}

function sizeOf(base64: unknown): string {
  return `${Buffer.from(String(base64), 'base64').length} bytes`
}

/** A notification that comes before the answer, as a line; undefined for what says nothing to people. */
export function progressText({ method, params }: JsonObject): string | undefined {
  if (!isObject(params)) return undefined
  if (method === 'notifications/progress') {
    const { progress, total, message } = params
    const part = total === undefined ? `${String(progress)}` : `${String(progress)}/${String(total)}`
    return `[${part}]${typeof message === 'string' ? ` ${printable(message)}` : ''}`
  }
  if (method === 'notifications/message') {
    const { level, data } = params
    return `${String(level)}: ${printable(typeof data === 'string' ? data : stringify(data ?? null))}`
  }
  return undefined
}
