import type { HttpAnswer } from '../net/index.ts'
import type { Template } from '../template/index.ts'
import { giveWay } from '../text/index.ts'
import type { ReadAnswer } from './answer.ts'
import { CallError } from './failure.ts'
import { canonicalHeader, define, type Root } from './root.ts'
import { reads, renderInTurns } from './templates.ts'

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
