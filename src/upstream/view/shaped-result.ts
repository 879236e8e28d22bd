import { isObject, type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  jsonIn,
  jsonLimitOf,
  type Keep,
  nothingOmitted,
  type Presented,
  type Shaping,
  withRest,
} from '../../json/shaping/index.ts'
import { pauseFor } from '../../text/index.ts'

/**
 * The response to a tool call with its result shaped: JSON texts and structured content. Error texts are only
 * truncated.
 */
export async function shapedResponse(raw: JsonObject, shaping: Shaping, keep?: Keep): Promise<JsonObject> {
  const keeps = shaping.keepsRest && keep ? onceEach(keep) : undefined
  const { result } = raw
  if (!isObject(result) || !Array.isArray(result.content)) return raw
  const isError = result.isError === true
  const shown = await shownStructure(result.structuredContent, shaping, isError, keeps)
  if (shown === TOO_LONG) return { ...raw, result: tooLong(result, shaping) }
  const content = await shownContent(result.content, shaping, isError, keeps)
  // A text with the same content already contains the notice.
  if (shown?.notice !== undefined && !content.some((item) => isObject(item) && item.text === shown.notice))
    content.push({ type: 'text', text: shown.notice }, ...(shown.link ? [shown.link] : []))
  return { ...raw, result: { ...result, content, ...(shown && { structuredContent: shown.value as Json }) } }
}

/** Keeps a text that repeats the structured content only once. */
function onceEach(keep: Keep): Keep {
  const kept = new Map<string, ReturnType<Keep>>()
  return (whole, isJson) => {
    if (!kept.has(whole)) kept.set(whole, keep(whole, isJson))
    return kept.get(whole)
  }
}

type Shown = ReturnType<typeof withRest>

const TOO_LONG = Symbol('too long')

async function shownStructure(
  given: Json | undefined,
  shaping: Shaping,
  isError: boolean,
  keep: Keep | undefined,
): Promise<Shown | typeof TOO_LONG | undefined> {
  if (given === undefined) return undefined
  const omitted = nothingOmitted()
  const value = isError ? given : shaping.apply(given, omitted)
  await pauseFor(value)
  const shown = await shaping.present(value, omitted, true)
  return stringify(shown.value).length > shaping.maxChars ? TOO_LONG : withRest(shown, keep)
}

async function shownContent(
  content: readonly Json[],
  shaping: Shaping,
  isError: boolean,
  keep: Keep | undefined,
): Promise<Json[]> {
  const shown: Json[] = []
  const notices = new Set<string>()
  const links = new Set<JsonObject>()
  let size = 0
  let left = 0
  for (const item of content) {
    const holder = holderOf(item)
    if (!holder) {
      shown.push(item)
      continue
    }
    await pauseFor(holder.text)
    const presented = await shownText(holder.text, shaping, isError)
    size += presented.text.length
    const { text, beside, notice, link } = size > shaping.maxChars ? { text: '' } : withRest(presented, keep)
    // A single content is within the limit by itself.
    if (size > shaping.maxChars) left++
    else shown.push(holder.with(text), ...(beside === undefined ? [] : [{ type: 'text', text: beside }]))
    if (notice !== undefined) notices.add(notice)
    if (link) links.add(link)
  }
  if (left > 0) notices.add(`Shortened: ${left} of the ${content.length} contents are left out.`)
  return [...shown, ...[...notices].map((text) => ({ type: 'text', text })), ...links]
}

/** The holder of a content's text: the content or its resource; undefined: it has no text. */
function holderOf(item: Json): { text: string; with(text: string): Json } | undefined {
  if (!isObject(item)) return undefined
  const { type, text, resource } = item
  if (type === 'text' && typeof text === 'string') return { text, with: (text) => ({ ...item, text }) }
  if (type !== 'resource' || !isObject(resource) || typeof resource.text !== 'string') return undefined
  return { text: resource.text, with: (text) => ({ ...item, resource: { ...resource, text } }) }
}

async function shownText(text: string, shaping: Shaping, isError: boolean): Promise<Presented> {
  const data = isError || !shaping.isDeclared ? undefined : jsonIn(text)
  if (data === undefined) {
    const fault = isError || !shaping.isDeclared ? undefined : jsonLimitOf(text)
    // Data that masks would remove must not be shown unmasked.
    if (fault !== undefined) {
      const said = `The text cannot be shaped: ${fault}. Request less in one call.`
      return { text: said, notice: undefined }
    }
    return shaping.presentText(text)
  }
  await pauseFor(text)
  const omitted = nothingOmitted()
  const value = shaping.apply(data, omitted)
  await pauseFor(value)
  return shaping.present(value, omitted)
}

/** Clients validate structured content against the tool's schema, so it cannot just be removed. */
function tooLong({ _meta }: JsonObject, { maxChars }: Shaping): JsonObject {
  const text = `The result of the tool is longer than the ${maxChars} characters that it may have, and cannot be shortened without breaking its form. Request less in one call.`
  return { content: [{ type: 'text', text }], isError: true, ...(_meta !== undefined && { _meta }) }
}
