import type { Configuration, ReadConfiguration, Tool } from '../../config/index.ts'
import { headersOf } from '../../config/short-form.ts'
import type { Path } from '../../findings/index.ts'
import { stringify } from '../../json/index.ts'
import type { HttpAnswer } from '../../net/index.ts'
import type { Secrets } from '../../template/index.ts'
import {
  isSecretHeader,
  isSecretName,
  numberText,
  printableJson,
  printableLines,
  tokensIn,
} from '../../text/index.ts'
import type { ToolResult, UpstreamRequest } from '../../tools/index.ts'
import { type Mask, SHOWN } from '../../tools/mask.ts'
import { shownRequest } from '../../tools/request-text.ts'
import { jsonText } from '../output.ts'

/** `{method, url, headers: [[name, value]…], body}`; `body` is absent if empty. */
export function requestJson(request: UpstreamRequest, mask: Mask): string {
  return jsonText(shownRequest(request, mask))
}

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
    `${numberText(characters)} characters (about ${numberText(tokensIn(characters))} tokens)`
  return `response: ${size(body.toString('utf8').length)}\nresult:   ${size(after)}\n`
}

function base64Bytes(data: string): number {
  return Buffer.from(data, 'base64').length
}

/** Values that are never secret; masking them would hide too much. */
const HARMLESS = /^(?:true|false|null|none)?$|^https?:\/\/[^@?]*$/is

type Values = Readonly<Record<string, string>>

/** Values that templates must not show: secrets by name. @param config of the server, as rendered */
export function hiddenOf(config: Values): Secrets {
  const names = new Set(
    Object.keys(config).filter((name) => isSecretName(name) && !HARMLESS.test(config[name]!)),
  )
  return {
    isSecret([root, name, header]) {
      if (root === undefined) return true
      if (root === 'Config') return name === undefined ? names.size > 0 : names.has(name)
      if (root !== 'Request') return false
      if (name === 'Headers') return header === undefined || isSecretHeader(header)
      return name === undefined || name === 'Cookies'
    },
    isSecretVariable: (name) => name === undefined || isSecretName(name),
  }
}

/**
 * A request to show: URL and body as rendered without secrets, or hidden; headers unless they are secret by name or
 * value.
 * @param hidden the request rendered without secrets, if possible
 */
export function withoutSecrets(sent: UpstreamRequest, hidden: UpstreamRequest | undefined): UpstreamRequest {
  const {
    origin,
    path,
    headers: masked,
    body,
  } = hidden ?? { ...sent, origin: SHOWN, path: `/${SHOWN}`, body: SHOWN }
  const headers = sent.headers.map((text, i) => {
    const name = sent.headers[i - 1]
    if (i % 2 === 0 || name === undefined) return text
    const holds = masked.some((other, j) => j % 2 === 1 && masked[j - 1] === name && other.includes(SHOWN))
    return isSecretHeader(name) || holds ? withoutCredential(text) : text
  })
  // A form contains only arguments, and its boundary is in the headers.
  const shown = typeof sent.body === 'string' ? (body ?? '') : sent.body
  return { ...sent, origin, path, headers, ...(shown !== undefined && { body: shown }) }
}

/** Schemes without credentials, and empty values, are shown. */
function withoutCredential(value: string): string {
  const [, scheme, rest] = /^(?:(Basic|Bearer|Digest|Token|ApiKey)(?: +|$))?(.*)$/is.exec(value) ?? []
  if (!rest) return value
  return scheme ? `${scheme} ${SHOWN}` : SHOWN
}

/** Parts of a request and its result. */
const PARTS = ['method', 'endpoint', 'headers', 'requestBody', 'responseBody', 'errorBody'] as const

/**
 * Whether a tool is rendered with other values than the file's: missing or faulty values are replaced by harmless ones
 * to find further findings, and unset variables stay as written.
 */
export function isInvented(
  read: ReadConfiguration,
  { servers, tools }: Configuration,
  tool: Tool,
  server: number,
): boolean {
  const own: Path = ['tools', tools.indexOf(tool)]
  const at: Path = ['servers', server]
  const { config = {}, ...others } = servers[server] ?? {}
  const { baseUrl = null, headers = {} } = servers[server] ?? {}
  const texts = [baseUrl, headers, ...PARTS.map((part) => tool[part] ?? null)]
  const readsConfig = /\bConfig\b/.test(stringify(texts))
  const paths = [
    ...PARTS.map((part): Path => [...own, part]),
    ...headersOf(tool, own, servers[server], at).map(({ path }) => path),
    // Such as `credentials`, which calls send too; a header of the server may be replaced by the tool's.
    ...Object.keys(others).flatMap((key): Path[] => (key === 'headers' ? [] : [[...at, key]])),
    ...(readsConfig ? [['servers'], at, [...at, 'config']] : []),
    ...(readsConfig ? Object.keys(config).map((key): Path => [...at, 'config', key]) : []),
  ]
  return paths.some((path) => read.isRepaired(path) || isUnset(read, path))
}

/** Whether the value contains an unset variable. */
function isUnset({ findings, locate }: ReadConfiguration, path: Path): boolean {
  const range = path.length > 2 ? locate(path) : undefined
  return findings.some(
    (found) =>
      found.code === 'env-unset' &&
      found.range !== undefined &&
      range !== undefined &&
      found.range.start.offset >= range.start.offset &&
      found.range.end.offset <= range.end.offset,
  )
}
