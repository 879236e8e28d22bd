import { isUtf8 } from 'node:buffer'
import { printableLines } from '../../findings/frame.ts'
import { stringify } from '../../json/index.ts'
import type { HttpAnswer } from '../../net/index.ts'
import { printableJson, tokensIn } from '../../text/index.ts'
import type { ToolResult, UpstreamRequest } from '../../tools/index.ts'
import type { Mask } from '../../tools/mask.ts'
import { jsonText } from '../output.ts'

/** A request in HTTP/1.1 syntax, with the whole URL in the first line. */
export function requestText(request: UpstreamRequest, mask: Mask): string {
  const { method, url, headers, body } = shown(request, mask)
  const lines = [`${method} ${url}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
  return printableLines(`${lines.join('\n')}\n${body === undefined ? '' : `\n${body}\n`}`)
}

/** `{method, url, headers: [[name, value]…], body}`; `body` is absent if empty. */
export function requestJson(request: UpstreamRequest, mask: Mask): string {
  return jsonText(shown(request, mask))
}

function shown({ method, origin, path, headers, body }: UpstreamRequest, mask: Mask) {
  const pairs: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) {
    // Headers hold UTF-8 bytes, one character for each.
    const value = Buffer.from(headers[i + 1]!, 'latin1').toString('utf8')
    pairs.push([headers[i]!, mask(value)])
  }
  return {
    method,
    url: mask(origin + path),
    headers: pairs,
    ...(body !== undefined && { body: mask(bodyText(body)) }),
  }
}

/** Binary bodies are shown by their size. */
function bodyText(body: string | Buffer): string {
  if (typeof body === 'string') return body
  if (isUtf8(body) && !body.includes(0)) return body.toString('utf8')
  return `(${body.length} bytes of binary data)`
}

/** The client's result as text: each content, then the structured content. */
export function resultText({ content, structuredContent, isError }: ToolResult, mask: Mask): string {
  const parts = content.map((one) => {
    if (one.type === 'text') return one.text
    if (one.type === 'resource') return `(${one.resource.mimeType}, ${base64Bytes(one.resource.blob)} bytes)`
    return `(${one.mimeType}, ${base64Bytes(one.data)} bytes)`
  })
  if (structuredContent) parts.push(`structuredContent: ${stringify(structuredContent)}`)
  return printableLines(mask(`${isError ? 'isError: true\n' : ''}${parts.join('\n')}\n`))
}

/** MCP's CallToolResult. */
export function resultJson(result: ToolResult, mask: Mask): string {
  return `${printableJson(mask(stringify(result)))}\n`
}

/** Sizes of a response before and after shaping. */
export function sizesText({ body }: HttpAnswer, { content }: ToolResult): string {
  const after = content.reduce((sum, one) => sum + (one.type === 'text' ? one.text.length : 0), 0)
  const size = (characters: number) =>
    `${characters.toLocaleString('en-US')} characters (about ${tokensIn(characters).toLocaleString('en-US')} tokens)`
  return `response: ${size(body.toString('utf8').length)}\nresult:   ${size(after)}\n`
}

function base64Bytes(data: string): number {
  return Buffer.from(data, 'base64').length
}
