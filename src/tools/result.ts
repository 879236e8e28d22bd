import type { Limits } from '../config/model.ts'
import {
  isObject,
  type Json,
  JsonLimitError,
  type JsonObject,
  parseVerbatim,
  plain,
  stringify,
} from '../json/index.ts'
import {
  type Keep,
  nothingOmitted,
  type Omitted,
  type Presented,
  type Shaping,
  withRest,
} from '../json/shaping/index.ts'
import type { HttpAnswer } from '../net/index.ts'
import type { Template } from '../template/index.ts'
import { canonicalHeader, cut, lazy, pauseFor } from '../text/index.ts'
import type { ReadAnswer } from './answer.ts'
import { describeErrors } from './args.ts'
import { asCallError, CallError } from './failure.ts'
import { define, type Root } from './root.ts'
import { reads, renderInTurns } from './templates.ts'
import type { CallOutcome, Content, ToolResult } from './types.ts'
import type { Validate } from './validators.ts'

/** Maximum characters of an upstream's body in an error. */
const ERROR_TEXT = 4_000

/** A compiled `responseBody` or `errorBody`. */
export interface AnswerTemplate {
  /** Whether it reads the body as text or JSON. */
  readsBody: boolean
  /** @throws CallError */
  render(root: Root, read: ReadAnswer): Promise<string>
}

/** @param what name of the template in errors */
export function answerTemplate(template: Template, what: string): AnswerTemplate {
  const [readsData, readsText, readsHeaders] = ['Data', 'Body', 'Headers'].map((name) =>
    reads(template, 'Response', name),
  )
  return {
    readsBody: readsData === true || readsText === true,
    async render(root, read) {
      const { answer } = read
      const Response: Record<string, unknown> = { Status: answer.status }
      if (readsText) Response.Body = read.text()
      if (readsHeaders) Response.Headers = responseHeaders(answer)
      if (readsData) {
        addData(Response, read)
        await pauseFor(read.text())
      }
      return (await renderInTurns(template, { ...root, Response }, what)) ?? ''
    },
  }
}

/** `Data` fails only when read, as a template may never read it. */
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

/** Compiled settings for a tool's answers. */
export interface Shape {
  /** Undefined: the answer is returned unchanged. */
  responseBody: AnswerTemplate | undefined
  errorBody: AnswerTemplate | undefined
  shaping: Shaping
  /** Present with an output schema. */
  output: Output | undefined
}

interface Output {
  /** Validates the upstream's answer, or the template's output. */
  validate: Validate
  /** Validates the shaped result. */
  validateShown: Validate
  wrapped: boolean
}

export interface Sent {
  method: string
  /** Without query and secrets; computed on demand. */
  url: () => Promise<string>
  root: Root
  /** Keeps the cut-off part of the result; absent: disabled. */
  keep?: Keep | undefined
}

export async function answerOutcome(
  read: ReadAnswer,
  shape: Shape,
  sent: Sent,
  limits: Limits,
): Promise<CallOutcome> {
  if (read.answer.status >= 300) return failedOperation(read, shape, sent, limits)
  return settled(read, sent, limits, async () => {
    const result = await successResult(read, shape, sent)
    const savedChars = savedBy(shape, read, result)
    return savedChars > 0 ? { result, savedChars } : { result }
  })
}

/** The outcome of an answer that reports a failed operation, whatever its status. */
export function failedOperation(
  read: ReadAnswer,
  shape: Shape,
  sent: Sent,
  limits: Limits,
): Promise<CallOutcome> {
  return settled(read, sent, limits, () => errorAnswer(read, shape, sent))
}

/** The outcome for a result, or the reason why it failed. */
async function settled(
  read: ReadAnswer,
  sent: Sent,
  limits: Limits,
  make: () => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const upstreamStatus = read.answer.status
  try {
    return { ...(await make()), upstreamStatus }
  } catch (error) {
    const failed = asCallError(error, limits)
    return { ...failedOutcome(failed, await unshapedText(read, sent, failed)), upstreamStatus }
  }
}

export function failedOutcome(
  { failure, detail, upstreamStatus, login }: CallError,
  text: string,
): CallOutcome {
  return {
    result: { ...textResult(text), isError: true },
    failure,
    ...(detail !== undefined && { detail }),
    ...(upstreamStatus !== undefined && { upstreamStatus }),
    ...(login && { login }),
  }
}

/** The result of an answer with a status below 300, or of a followed redirect. @throws CallError */
async function successResult(read: ReadAnswer, shape: Shape, sent: Sent): Promise<ToolResult> {
  const { responseBody, shaping, output } = shape
  if (responseBody || shaping.isDeclared || output || isBinary(read)) return madeResult(read, shape, sent)
  return plainResult(read, shaping, sent)
}

/** The result of an answer that is at most truncated. */
async function plainResult(read: ReadAnswer, shaping: Shaping, sent: Sent): Promise<ToolResult> {
  if (sent.method === 'HEAD') return textResult(`${statusText(read)}\n${headerLines(read)}`)
  const { body } = read.answer
  if (body.length === 0) return textResult(`${statusText(read)} (empty response)`)
  return textsResult(await shaping.presentText(read.text()), sent.keep)
}

/** The result of an answer that is transformed. @throws CallError */
async function madeResult(read: ReadAnswer, shape: Shape, sent: Sent): Promise<ToolResult> {
  const { responseBody: template, shaping, output } = shape
  if (output && !template) return structuredResult(read, read.text(), shape, output, sent)
  const binary = isBinary(read)
  const shaped = shaping.isDeclared && !binary ? await shapedAnswer(read, shaping) : undefined
  if (template && output) {
    const text = await template.render(sent.root, shaped?.read ?? read)
    return structuredResult(read, text, shape, output, sent, shaped?.omitted)
  }
  if (binary) return { content: [...(await captions(read, template, sent)), await binaryContent(read, sent)] }
  if (template) {
    const text = await template.render(sent.root, shaped?.read ?? read)
    return textsResult(await shaping.presentText(text, shaped?.omitted), sent.keep)
  }
  if (shaped) return textsResult(await shaping.present(shaped.value, shaped.omitted), sent.keep)
  return plainResult(read, shaping, sent)
}

/** Characters removed from an answer by shaping or the limit. */
function savedBy({ shaping, responseBody }: Shape, read: ReadAnswer, { content }: ToolResult): number {
  const isCut = !responseBody && read.answer.body.length > shaping.maxChars
  if (isBinary(read) || !(shaping.isDeclared || isCut)) return 0
  const shown = content.reduce((sum, one) => sum + (one.type === 'text' ? one.text.length : 0), 0)
  return Math.max(0, read.text().length - shown)
}

interface ShapedAnswer {
  /** The answer as templates read it. */
  read: ReadAnswer
  value: Json
  omitted: Omitted
}

/** Undefined: the answer is not JSON, so it is not shaped. */
async function shapedAnswer(read: ReadAnswer, shaping: Shaping): Promise<ShapedAnswer | undefined> {
  let data: Json
  try {
    data = parseVerbatim(read.text())
  } catch (error) {
    if (!(error instanceof JsonLimitError)) return undefined
    throw new CallError(
      'too-large',
      `The response cannot be shaped: ${error.message}. Request less in one call.`,
    )
  }
  await pauseFor(data)
  const omitted = nothingOmitted()
  const value = shaping.apply(data, omitted)
  await pauseFor(value)
  const shaped = { ...read, text: lazy(() => stringify(value)), data: lazy(() => plain(value)) }
  return { read: shaped, value, omitted }
}

/** @param keep keeps the cut-off part; absent: disabled */
function textsResult(presented: Presented, keep: Keep | undefined): ToolResult {
  const { text, beside, notice, link } = withRest(presented, keep)
  const more = [beside, notice].flatMap((one): Content[] =>
    one === undefined ? [] : [{ type: 'text', text: one }],
  )
  const links = link ? [link as unknown as Content] : []
  return { content: [{ type: 'text', text }, ...more, ...links] }
}

function isBinary({ kind, answer }: ReadAnswer): boolean {
  return kind !== 'json' && kind !== 'text' && answer.body.length > 0
}

function textResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }] }
}

/** With media, only a text from a template that does not read the body. */
async function captions(
  read: ReadAnswer,
  template: AnswerTemplate | undefined,
  sent: Sent,
): Promise<Content[]> {
  if (!template || template.readsBody) return []
  return [{ type: 'text', text: await template.render(sent.root, read) }]
}

/**
 * Image types accepted by model APIs, by the media types that servers use; another type would end a client's session.
 */
const MODEL_IMAGES: ReadonlyMap<string, string> = new Map([
  ['image/png', 'image/png'],
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
])

async function binaryContent(read: ReadAnswer, sent: Sent): Promise<Content> {
  const data = read.answer.body.toString('base64')
  const { kind, mediaType } = read
  if (kind === 'audio') return { type: kind, data, mimeType: mediaType }
  const image = MODEL_IMAGES.get(mediaType)
  if (image !== undefined) return { type: 'image', data, mimeType: image }
  return { type: 'resource', resource: { uri: await sent.url(), mimeType: mediaType, blob: data } }
}

/**
 * @param text of the response, or the template's output
 * @param templated what was omitted before the template; absent: no template
 */
async function structuredResult(
  read: ReadAnswer,
  text: string,
  { shaping, responseBody }: Shape,
  { validate, validateShown, wrapped }: Output,
  sent: Sent,
  templated?: Omitted,
): Promise<ToolResult> {
  const none = text === '' && !responseBody ? emptyResult(read, validateShown, wrapped) : undefined
  if (none) return none
  let data: Json
  try {
    data = parseVerbatim(text)
  } catch (error) {
    const what = responseBody
      ? 'The rendered responseBody'
      : `The response of the upstream (${statusText(read)}, ${read.mediaType})`
    if (error instanceof JsonLimitError)
      throw new CallError(
        'too-large',
        `${what} cannot be structured content: ${error.message}. Request less in one call.`,
      )
    throw new CallError(
      'output-schema',
      `${what} is not JSON, but this tool declares structured content (outputSchema).`,
    )
  }
  await pauseFor(text)
  checkOutput(plain(data), validate, wrapped, 'The response does not match the outputSchema of this tool:')
  const omitted = templated ?? nothingOmitted()
  const shaped = shaping.isDeclared && !responseBody ? shaping.apply(data, omitted) : data
  const shown = await shownOutput(text, shaped, data, shaping, omitted)
  const { value = null, ...texts } = shown
  if (value !== data)
    checkOutput(
      plain(value),
      validateShown,
      wrapped,
      'The response is too long to be shown, and shortened it does not match the outputSchema of this tool. Request less in one call:',
    )
  const result = textsResult(texts, sent.keep)
  if (isBinary(read)) result.content.push(await binaryContent(read, sent))
  return { ...result, structuredContent: structured(value, wrapped) as JsonObject }
}

/** The result of a successful answer without a body, if the schema allows it; otherwise undefined. */
function emptyResult(read: ReadAnswer, validate: Validate, wrapped: boolean): ToolResult | undefined {
  const value: JsonObject = wrapped ? { result: null } : {}
  if (validate(value).length > 0) return undefined
  return { ...textResult(`${statusText(read)} (empty response)`), structuredContent: value }
}

/** An unchanged text is returned as it is. */
async function shownOutput(
  text: string,
  shaped: Json,
  data: Json,
  shaping: Shaping,
  omitted: Omitted,
): Promise<Presented> {
  const isSame = shaped === data && text.length <= shaping.maxChars && !shaping.isTable
  if (isSame) return shaping.unchanged(text, data, omitted)
  await pauseFor(shaped)
  const shown = await shaping.present(shaped, omitted, true)
  if (stringify(shown.value).length > shaping.maxChars)
    throw new CallError(
      'too-large',
      `The response is longer than the ${shaping.maxChars} characters that a result may have, and cannot be shortened without breaking the outputSchema of this tool. Request less in one call.`,
    )
  return shown
}

function structured(data: Json, wrapped: boolean): Json {
  return wrapped ? { result: data } : data
}

/** @throws CallError with the faults after `what` */
function checkOutput(data: Json, validate: Validate, wrapped: boolean, what: string): void {
  const value = structured(data, wrapped)
  const errors = validate(value)
  if (errors.length === 0 && isObject(value)) return
  // Faults refer to the response inside the gateway's wrapper.
  const own = wrapped
    ? errors.map((error) => ({ ...error, instancePath: error.instancePath.replace(/^\/result/, '') }))
    : errors
  const faults = describeErrors(own, data, { name: 'the response' }, 10).shown
  throw new CallError('output-schema', [what, ...faults.map((fault) => `- ${fault}`)].join('\n'))
}

/**
 * The outcome of an error answer, or of a redirect that is not followed.
 * `structuredContent` is `{status, headers, body}`. Clients validate structured content against a tool's output schema
 * even in errors, so with an output schema it is `_meta['plantgw/error']` instead. `detail` explains why the tool's
 * `errorBody` could not be rendered.
 */
async function errorAnswer(read: ReadAnswer, shape: Shape, sent: Sent): Promise<CallOutcome> {
  const details = errorDetails(read)
  const isRedirect = read.answer.status >= 300 && read.answer.status < 400
  // `errorBody` is not written for redirects.
  const template = isRedirect ? undefined : shape.errorBody
  let text: string
  let detail: string | undefined
  try {
    text = template ? await template.render(sent.root, read) : await errorText(read, sent)
  } catch (error) {
    // A failing template must not hide the upstream's error.
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

/** The text for an answer that could not become a result; it states first that the request was executed. */
async function unshapedText(read: ReadAnswer, sent: Sent, error: CallError): Promise<string> {
  const { length } = read.answer.body
  const first = `${sent.method} ${await sent.url()} was carried out and answered ${statusText(read)}, but: ${error.text}`
  // Data too large to mask must not be shown unmasked.
  const isHidden = error.failure === 'too-large'
  return length === 0 || isHidden || isBinary(read) ? first : `${first}\n\n${cut(read.text(), ERROR_TEXT)}`
}

async function errorText(read: ReadAnswer, sent: Sent): Promise<string> {
  const { status, headers, body } = read.answer
  const first = `${sent.method} ${await sent.url()} answered ${statusText(read)}`
  if (status >= 300 && status < 400 && typeof headers.location === 'string')
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
      // The text shows that it is not JSON after all.
    }
  }
  if (read.kind === 'json' || read.kind === 'text') details.body = cut(read.text(), ERROR_TEXT)
  return details
}

/** Headers useful in errors; none can be a credential. */
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
