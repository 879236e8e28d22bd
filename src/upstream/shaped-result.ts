import { isObject, type Json, type JsonObject, stringify } from '../json/index.ts'
import {
  jsonIn,
  jsonLimitOf,
  type Keep,
  nothingOmitted,
  type Presented,
  type Shaping,
  withRest,
} from '../shaping/index.ts'
import { giveWay } from '../text/index.ts'

/**
 * The response to a call of a tool, with its result shaped: the texts that are JSON, and the structured content. Texts of
 * errors are only cut where they are too long.
 */
export async function shapedResponse(raw: JsonObject, shaping: Shaping, keep?: Keep): Promise<JsonObject> {
  const keeps = shaping.keepsRest && keep ? onceEach(keep) : undefined
  const { result } = raw
  if (!isObject(result) || !Array.isArray(result.content)) return raw
  const isError = result.isError === true
  const shown = await shownStructure(result.structuredContent, shaping, isError, keeps)
  if (shown === TOO_LONG) return { ...raw, result: tooLong(result, shaping) }
  const content = await shownContent(result.content, shaping, isError, keeps)
  // A text that repeats the structured content has said already what is missing.
  if (shown?.notice !== undefined && !content.some((item) => isObject(item) && item.text === shown.notice))
    content.push({ type: 'text', text: shown.notice }, ...(shown.link ? [shown.link] : []))
  return { ...raw, result: { ...result, content, ...(shown && { structuredContent: shown.value as Json }) } }
}

/** A text that repeats the structured content is kept once. */
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
  await giveWay()
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
    await giveWay()
    const presented = await shownText(holder.text, shaping, isError)
    size += presented.text.length
    const { text, beside, notice, link } = size > shaping.maxChars ? { text: '' } : withRest(presented, keep)
    // The first one is within the limit.
    if (size > shaping.maxChars) left++
    else shown.push(holder.with(text), ...(beside === undefined ? [] : [{ type: 'text', text: beside }]))
    if (notice !== undefined) notices.add(notice)
    if (link) links.add(link)
  }
  if (left > 0) notices.add(`Shortened: ${left} of the ${content.length} contents are left out.`)
  return [...shown, ...[...notices].map((text) => ({ type: 'text', text })), ...links]
}

/** What has the text of a content: itself, or the resource in it; undefined: it has none. */
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
    // What masks are to leave out is never shown.
    if (fault !== undefined) {
      const said = `The text cannot be shaped: ${fault}. Request less in one call.`
      return { text: said, notice: undefined }
    }
    return shaping.presentText(text)
  }
  await giveWay()
  const omitted = nothingOmitted()
  const value = shaping.apply(data, omitted)
  await giveWay()
  return shaping.present(value, omitted)
}

/** Clients hold structured content against the schema of its tool, so that it cannot be left out of a result. */
function tooLong({ _meta }: JsonObject, { maxChars }: Shaping): JsonObject {
  const text = `The result of the tool is longer than the ${maxChars} characters that it may have, and cannot be shortened without breaking its form. Request less in one call.`
  return { content: [{ type: 'text', text }], isError: true, ...(_meta !== undefined && { _meta }) }
}
