import { type Arg, type Limits, wireName } from '../config/model.ts'
import { JSON_LIMITS, type Json, parseVerbatim, stringify } from '../json/index.ts'
import type { Next, Pages } from '../json/shaping/index.ts'
import { type HttpAnswer, linkTargets } from '../net/index.ts'
import { pathOf, pauseFor, shorten, wellFormed } from '../text/index.ts'
import { readAnswer } from './answer.ts'
import { readPath } from './endpoint.ts'
import { asCallError, CallError } from './failure.ts'
import type { Answered } from './send.ts'
import type { UpstreamRequest } from './types.ts'
import { countValues } from './validators.ts'

/** Parameters of reading a call's pages. */
interface PageReading {
  pages: Pages
  args: readonly Arg[]
  limits: Limits
  /** Requests a page. @param maxSize maximum bytes of its answer @throws CallError, NetFault */
  send(request: UpstreamRequest, maxSize: number): Promise<Answered>
  progress?: ((done: number, message: string) => void) | undefined
}

/** Result of reading pages. */
export interface PagesRead {
  /** The last page, with the items of all pages. */
  answer: HttpAnswer
  count: number
  /** For the client; undefined: there was a single page. */
  notice: string | undefined
  /** Why not all pages were read, for the log. */
  detail?: string
}

/** Why reading stopped early; undefined: all pages were read. */
type Stop =
  | undefined
  /** `request` is the request for the next page. */
  | { why: 'enough'; request: UpstreamRequest }
  | { why: 'failed'; request: UpstreamRequest; text: string }
  | { why: 'elsewhere' | 'unusable'; text: string }

/**
 * Reads the pages after the first one, and combines all in one answer. A failure after the first page results in an
 * incomplete list, stated in the notice.
 * @throws NetFault, CallError if the call is cancelled
 */
export async function readPages(
  asked: UpstreamRequest,
  first: Answered,
  reading: PageReading,
): Promise<PagesRead> {
  const { pages, limits, progress } = reading
  const seen = new Set([asked.path, first.request.path])
  let last = readPage(first.answer, pages)
  if (!last) return { answer: first.answer, count: 1, notice: NO_LIST }
  const items = [...last.items]
  let answered = first
  let room = limits.maxResponseSize - first.answer.body.length
  let values = countValues(last.page)
  let stop: Stop
  let count = 1
  for (;;) {
    await pauseFor(last.page)
    const next = nextRequest(pages.next, answered, last, seen, asked)
    if (!next || !('path' in next)) stop = next
    else if (count === pages.max || items.length >= pages.enough || room <= 0)
      stop = { why: 'enough', request: next }
    else {
      const page = await attempt(next, room, reading)
      values += 'why' in page ? 0 : countValues(page.page)
      if ('why' in page) stop = page
      else if (values > JSON_LIMITS.values)
        // A larger answer would not be read as JSON, and so not be shaped.
        stop = { why: 'failed', request: next, text: TOO_LARGE }
      else {
        seen.add(next.path)
        count++
        // Spread as arguments, a long page would overflow the stack.
        for (const item of page.items) items.push(item)
        room -= page.answered.answer.body.length
        answered = page.answered
        last = page
        progress?.(count, `Page ${count} read`)
        continue
      }
    }
    break
  }
  const notice = noticeOf(count, stop, asked, reading.args)
  const detail = stop && 'text' in stop ? { detail: `page ${count + 1} was not read: ${stop.why}` } : {}
  if (count === 1) return { answer: first.answer, count, notice, ...detail }
  const body = Buffer.from(stringify(pages.withItems(last.page, items)))
  return { answer: { ...answered.answer, body }, count, notice, ...detail }
}

const TOO_LARGE = 'the pages together are too large'
const NO_LIST = 'Pages: 1 read. The response does not have the list whose pages follow each other.'

interface Page {
  page: Json
  items: Json[]
}

/** Undefined: the answer is not a page of the list. */
function readPage(answer: HttpAnswer, pages: Pages): Page | undefined {
  if (answer.status >= 300) return undefined
  let page: Json
  try {
    page = parseVerbatim(readAnswer(answer).text())
  } catch {
    return undefined
  }
  const items = pages.itemsOf(page)
  return items && { page, items }
}

async function attempt(
  request: UpstreamRequest,
  room: number,
  { pages, limits, send }: PageReading,
): Promise<(Page & { answered: Answered }) | NonNullable<Stop>> {
  const failed = (text: string): Stop => ({ why: 'failed', request, text })
  try {
    const answered = await send(request, room)
    const { status } = answered.answer
    const page = readPage(answered.answer, pages)
    return page ? { ...page, answered } : failed(status < 300 ? 'it has no list' : `status ${status}`)!
  } catch (error) {
    const { failure, text } = asCallError(error, limits)
    if (failure === 'cancelled') throw error
    const isFull = failure === 'too-large' || failure === 'no-room'
    return failed(isFull ? TOO_LARGE : text.replace(/\.$/, ''))!
  }
}

/** The request for the next page, or why it is not sent; undefined: this is the last page. */
function nextRequest(
  next: Next,
  { answer, request }: Answered,
  { page, items }: Page,
  seen: ReadonlySet<string>,
  asked: UpstreamRequest,
): UpstreamRequest | Stop {
  const target = targetOf(next, answer, request, page, items)
  if (target === undefined) return undefined
  const base = request.origin + request.path
  const unusable = {
    why: 'unusable',
    text: 'The link to the next page is not a URL that can be called',
  } as const
  if (!URL.canParse(target, base)) return unusable
  const url = new URL(target, base)
  if (url.origin !== asked.origin || url.username || url.password) {
    const where = shorten(url.origin === 'null' ? url.protocol : url.origin, 200)
    return { why: 'elsewhere', text: `The next page is at another origin, ${where}, and was not requested` }
  }
  try {
    const path = readPath(url.pathname + url.search, 0)
    if (seen.has(path))
      return { why: 'unusable', text: 'The link to the next page leads to one that was read' }
    return { ...asked, path }
  } catch (error) {
    if (error instanceof CallError) return unusable
    throw error
  }
}

function targetOf(
  next: Next,
  { headers }: HttpAnswer,
  { origin, path }: UpstreamRequest,
  page: Json,
  items: readonly Json[],
): string | undefined {
  if (next.kind === 'link') return linkTargets([headers.link ?? ''].flat().join(', '), 'next')[0]
  if (next.kind === 'url') return next.read(page)
  if (next.kind === 'value') {
    const value = next.read(page)
    return value === undefined ? undefined : origin + withQuery(path, next.query, value)
  }
  if (items.length === 0) return undefined
  const number = Number(queryOf(path).get(next.query) ?? 1)
  return Number.isSafeInteger(number) ? origin + withQuery(path, next.query, String(number + 1)) : undefined
}

function queryOf(path: string): URLSearchParams {
  return new URLSearchParams(path.slice(pathOf(path).length))
}

/** The path with one query parameter replaced; the rest stays as written. */
function withQuery(path: string, name: string, value: string): string {
  const bare = pathOf(path)
  const pairs = path.slice(bare.length + 1).split('&')
  const others = pairs.filter((pair) => pair !== '' && !new URLSearchParams(pair).has(name))
  const pair = [name, value].map((text) => encodeURIComponent(wellFormed(text))).join('=')
  return `${bare}?${[...others, pair].join('&')}`
}

/** The notice about pages for the client. */
function noticeOf(
  count: number,
  stop: Stop,
  asked: UpstreamRequest,
  args: readonly Arg[],
): string | undefined {
  const read = `Pages: ${count} read`
  if (!stop) return count > 1 ? `${read}, which are all.` : undefined
  if (!('request' in stop)) return `${read}. ${stop.text}.`
  const first =
    stop.why === 'failed'
      ? `${read}; the next one could not be read: ${shorten(stop.text, 300)}.`
      : `${read}, and there are more.`
  const given = argumentsOf(stop.request, asked, args)
  const how = given.length > 0 ? given.join(', ') : 'arguments that ask for less, such as a filter'
  return `${first} For the rest, call again with ${how}.`
}

/** The arguments with which a call would begin at this request; empty if anything else would differ. */
function argumentsOf({ path }: UpstreamRequest, asked: UpstreamRequest, args: readonly Arg[]): string[] {
  const [before, after] = [queryOf(asked.path), queryOf(path)]
  const known = new Map(args.filter((arg) => arg.const === undefined).map((arg) => [wireName(arg), arg]))
  const given: string[] = []
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [value, ...others] = after.getAll(name)
    if (String(before.getAll(name)) === String(after.getAll(name))) continue
    const arg = known.get(name)
    if (value === undefined || others.length > 0 || !arg) return []
    const isNumber = /^(integer|number)$/.test(arg.type) && /^-?\d{1,15}$/.test(value)
    given.push(`\`${arg.name}\`: ${isNumber ? value : JSON.stringify(value)}`)
  }
  // A truncated cursor would be useless.
  return given.join().length > 2_000 ? [] : given
}
