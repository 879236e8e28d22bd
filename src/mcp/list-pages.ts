import { isObject } from '../json/index.ts'

/** Maximum pages read of a list. */
const MAX_PAGES = 100

/**
 * The pages of a list that the gateway reads itself: the response to each request, until one names no further page, or
 * one that was read before.
 * @param ask requests a page with these parameters
 */
export async function* listPages<Response>(
  ask: (params: { cursor?: string }) => Promise<Response>,
): AsyncGenerator<Response> {
  const read = new Set<string>()
  let params: { cursor?: string } = {}
  while (read.size < MAX_PAGES) {
    const response = await ask(params)
    yield response
    const cursor = nextOf(response)
    if (cursor === undefined || read.has(cursor)) return
    read.add(cursor)
    params = { cursor }
  }
}

function nextOf(response: unknown): string | undefined {
  const result = isObject(response) ? response.result : undefined
  return isObject(result) && typeof result.nextCursor === 'string' ? result.nextCursor : undefined
}
