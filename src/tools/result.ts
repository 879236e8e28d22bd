import type { Limits } from '../config/model.ts'
import { isObject, type Json, type JsonObject, parse } from '../json/index.ts'
import type { HttpAnswer } from '../net/index.ts'
import type { Template } from '../template/index.ts'
import { cut, giveWay } from '../text/index.ts'
import type { ReadAnswer } from './answer.ts'
import { describeErrors } from './args.ts'
import { asCallError, CallError } from './failure.ts'
import { canonicalHeader, define, type Root } from './root.ts'
import { reads, renderInTurns } from './templates.ts'
import type { CallOutcome, Content, ToolResult } from './types.ts'
import type { Validate } from './validators.ts'

/** Characters of an upstream's body in an error's text. */
const ERROR_TEXT = 4_000
/** Faults of an answer that does not fit its schema. */
const MAX_FAULTS = 10

/** A compiled `responseBody` or `errorBody`. */
export interface AnswerTemplate {
  /** `{{.Response.Body}}` alone: the answer as it is, whatever its type. */
  passesThrough: boolean
  /** Whether it reads the body as text or as JSON. */
  readsBody: boolean
  /** @throws CallError */
  render(root: Root, read: ReadAnswer): Promise<string>
}

const PASS_THROUGH = /^\s*\{\{-?\s*\.Response\.Body\s*-?\}\}\s*$/

/** @param what names the template in errors */
export function answerTemplate(template: Template, what: string): AnswerTemplate {
  const [readsData, readsText, readsHeaders] = ['Data', 'Body', 'Headers'].map((name) =>
    reads(template, 'Response', name),
  )
  return {
    passesThrough: PASS_THROUGH.test(template.source),
    readsBody: readsData === true || readsText === true,
    async render(root, read) {
      const { answer } = read
      const Response: Record<string, unknown> = { Status: answer.status }
      if (readsText) Response.Body = read.text()
      if (readsHeaders) Response.Headers = responseHeaders(answer)
      if (readsData) {
        addData(Response, read)
        await giveWay()
      }
      return (await renderInTurns(template, { ...root, Response }, what)) ?? ''
    },
  }
}

/** A template that branches may never come to read `Data`, so what is not JSON is an error only when it does. */
function addData(Response: Record<string, unknown>, read: ReadAnswer): void {
  try {
    Response.Data = read.data()
  } catch {
    const { status, headers } = read.answer
    const type = headers['content-type'] ? `, ${String(headers['content-type']).slice(0, 100)}` : ''
    const text = `The response of the upstream (${status}${type}) is not JSON, which this tool expects.`
    const detail = `The template of this tool reads .Response.Data, but the response of the upstream (${status}${type}) is not JSON. .Response.Body is the unparsed text.`
    const get = () => {
      throw new CallError('template', text, detail)
    }
    Object.defineProperty(Response, 'Data', { get, enumerable: true })
  }
}

function responseHeaders(answer: HttpAnswer): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined)
      define(headers, canonicalHeader(name), Array.isArray(value) ? value.join(', ') : value)
  return headers
}

/** What a tool says of its answers, compiled. */
export interface Shape {
  responseBody: AnswerTemplate | undefined
  errorBody: AnswerTemplate | undefined
  /** Present with an output schema. */
  output: { validate: Validate; wrapped: boolean } | undefined
}

export interface Sent {
  method: string
  /** Without query and secrets; made only when it is needed. */
  url: () => Promise<string>
  root: Root
}

/** What an answer comes to. */
export async function outcomeOf(
  read: ReadAnswer,
  shape: Shape,
  sent: Sent,
  limits: Limits,
): Promise<CallOutcome> {
  const { status: upstreamStatus } = read.answer
  try {
    if (upstreamStatus < 300) return { result: await successResult(read, shape, sent), upstreamStatus }
    return { ...(await errorAnswer(read, shape, sent)), upstreamStatus }
  } catch (error) {
    const failed = asCallError(error, limits)
    return { ...failedOutcome(failed, await unshapedText(read, sent, failed)), upstreamStatus }
  }
}

export function failedOutcome({ failure, detail, upstreamStatus }: CallError, text: string): CallOutcome {
  return {
    result: { ...textResult(text), isError: true },
    failure,
    ...(detail !== undefined && { detail }),
    ...(upstreamStatus !== undefined && { upstreamStatus }),
  }
}

/** The result of an answer with a status below 300, or with one that a followed redirect ended in. @throws CallError */
async function successResult(read: ReadAnswer, shape: Shape, sent: Sent): Promise<ToolResult> {
  const template = shape.responseBody?.passesThrough ? undefined : shape.responseBody
  if (shape.output) return structuredResult(read, template, shape.output, sent)
  if (isBinary(read))
    return { content: [...(await captions(read, template, sent)), await binaryContent(read, sent)] }
  if (template) return textResult(await template.render(sent.root, read))
  if (sent.method === 'HEAD') return textResult(`${statusText(read)}\n${headerLines(read)}`)
  return textResult(read.answer.body.length === 0 ? `${statusText(read)} (empty response)` : read.text())
}

function isBinary({ kind, answer }: ReadAnswer): boolean {
  return kind !== 'json' && kind !== 'text' && answer.body.length > 0
}

function textResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }] }
}

/** Beside media only a text that does not read the media as text. */
async function captions(
  read: ReadAnswer,
  template: AnswerTemplate | undefined,
  sent: Sent,
): Promise<Content[]> {
  if (!template || template.readsBody) return []
  return [{ type: 'text', text: await template.render(sent.root, read) }]
}

async function binaryContent(read: ReadAnswer, sent: Sent): Promise<Content> {
  const data = read.answer.body.toString('base64')
  const { kind, mediaType } = read
  if (kind === 'image' || kind === 'audio') return { type: kind, data, mimeType: mediaType }
  return { type: 'resource', resource: { uri: await sent.url(), mimeType: mediaType, blob: data } }
}

async function structuredResult(
  read: ReadAnswer,
  template: AnswerTemplate | undefined,
  { validate, wrapped }: NonNullable<Shape['output']>,
  sent: Sent,
): Promise<ToolResult> {
  const text = template ? await template.render(sent.root, read) : read.text()
  await giveWay()
  let data: Json
  try {
    data = parse(text)
  } catch {
    const what = template
      ? 'The rendered responseBody'
      : `The response of the upstream (${statusText(read)}, ${read.mediaType})`
    throw new CallError(
      'output-schema',
      `${what} is not JSON, but this tool declares structured content (outputSchema).`,
    )
  }
  const structured: Json = wrapped ? { result: data } : data
  await giveWay()
  const errors = validate(structured)
  if (errors.length > 0 || !isObject(structured)) {
    // The gateway adds the wrapper: faults are about the response inside.
    const own = wrapped
      ? errors.map((error) => ({ ...error, instancePath: error.instancePath.replace(/^\/result/, '') }))
      : errors
    const faults = describeErrors(own, data, { name: 'the response' }, MAX_FAULTS).shown
    throw new CallError(
      'output-schema',
      [
        'The response does not match the outputSchema of this tool:',
        ...faults.map((fault) => `- ${fault}`),
      ].join('\n'),
    )
  }
  const content: Content[] = [{ type: 'text', text }]
  if (isBinary(read)) content.push(await binaryContent(read, sent))
  return { content, structuredContent: structured }
}

/**
 * What an answer comes to that is an error, or a redirect that is not followed.
 *
 * `structuredContent` is `{status, headers, body}`. Clients hold structured content against a tool's output
 * schema even on errors, so with an output schema it is `_meta['plantgw/error']` instead. `detail` is what kept
 * the tool's `errorBody` from being made.
 */
async function errorAnswer(read: ReadAnswer, shape: Shape, sent: Sent): Promise<CallOutcome> {
  const details = errorDetails(read)
  const isRedirect = read.answer.status < 400
  // A redirect that is not followed is no answer of the kind that `errorBody` is written for.
  const template = isRedirect ? undefined : shape.errorBody
  let text: string
  let detail: string | undefined
  try {
    text = template ? await template.render(sent.root, read) : await errorText(read, sent)
  } catch (error) {
    // A template that fails must not hide what the upstream said.
    if (!(error instanceof CallError)) throw error
    text = `${await errorText(read, sent)}\n\n${error.text}`
    detail = error.detail
  }
  const shown = shape.output ? { _meta: { 'plantgw/error': details } } : { structuredContent: details }
  return {
    result: { ...textResult(text), isError: true, ...shown },
    failure: isRedirect ? 'redirect' : 'status',
    ...(detail !== undefined && { detail }),
  }
}

/**
 * The text for an answer that could not be turned into a result: that the request was carried out matters more to the
 * caller than why its answer is not usable.
 */
async function unshapedText(read: ReadAnswer, sent: Sent, error: CallError): Promise<string> {
  const { length } = read.answer.body
  const first = `${sent.method} ${await sent.url()} was carried out and answered ${statusText(read)}, but: ${error.text}`
  return length === 0 || isBinary(read) ? first : `${first}\n\n${cut(read.text(), ERROR_TEXT)}`
}

async function errorText(read: ReadAnswer, sent: Sent): Promise<string> {
  const { status, headers, body } = read.answer
  const first = `${sent.method} ${await sent.url()} answered ${statusText(read)}`
  if (status < 400 && typeof headers.location === 'string')
    return `${first}: a redirect to ${withoutSecrets(headers.location)} that was not followed; set followRedirects on the tool to follow it.`
  if (body.length === 0) return `${first} without a body.`
  if (read.kind !== 'json' && read.kind !== 'text')
    return `${first} with ${body.length} bytes of ${read.mediaType}.`
  return `${first}:\n${cut(read.text(), ERROR_TEXT)}`
}

/** A URL without user, query and fragment. */
function withoutSecrets(location: string): string {
  return cut(location.replace(/[?#].*$/s, '').replace(/^([a-z]+:)?\/\/[^/]*@/i, '$1//'), 500)
}

function errorDetails(read: ReadAnswer): JsonObject {
  const details: JsonObject = { status: read.answer.status, headers: safeHeaders(read) }
  if (read.answer.body.length === 0) return details
  if (read.kind === 'json') {
    try {
      details.body = read.data()!
      return details
    } catch {
      // Not JSON after all: the text says what it is.
    }
  }
  if (read.kind === 'json' || read.kind === 'text') details.body = cut(read.text(), ERROR_TEXT)
  return details
}

/** Headers that help to act on an answer; whatever could be a credential stays out. */
const SAFE_HEADER =
  /^(?:allow|content-(?:language|length|type)|deprecation|etag|last-modified|retry-after|sunset|traceparent|www-authenticate|x-(?:correlation|request|trace)-id|(?:x-)?rate-?limit.*)$/

function safeHeaders(read: ReadAnswer): { [name: string]: string } {
  const safe: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(read.answer.headers)) {
    if (value === undefined || !SAFE_HEADER.test(name)) continue
    safe[name] = cut(Array.isArray(value) ? value.join(', ') : value, 1000)
  }
  return safe
}

function headerLines(read: ReadAnswer): string {
  return Object.entries(safeHeaders(read))
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function statusText({ answer: { status, reason } }: ReadAnswer): string {
  return reason ? `${status} ${cut(reason, 100)}` : `${status}`
}
