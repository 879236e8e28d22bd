/** Any characters, and any but `/`. Others are themselves. */
const MANY = Symbol('**')
const SOME = Symbol('*')
type Token = string | typeof MANY | typeof SOME

/**
 * Whether a text is one that a pattern with `*` and `**` stands for. No input makes it go back, so the time is that of
 * the text's length.
 * @param inSegment `*` stands for characters except `/`; else for any, as `**` does
 */
export function wildcards(pattern: string, inSegment = false): (text: string) => boolean {
  const tokens = (pattern.match(/\*+|[^*]/gs) ?? []).map((part): Token => {
    if (!part.startsWith('*')) return part
    return part.length > 1 || !inSegment ? MANY : SOME
  })
  return tokens.includes(SOME) ? inPlaces(tokens) : inParts(pattern.split(/\*+/))
}

/** Parts with anything between them: the first place of each is as good as any. */
function inParts(parts: readonly string[]): (text: string) => boolean {
  const start = parts[0] as string
  if (parts.length === 1) return (text) => text === start
  const end = parts.at(-1) as string
  const between = parts.slice(1, -1)
  return (text) => {
    if (!text.startsWith(start)) return false
    let at = start.length
    for (const part of between) {
      const found = text.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return text.length - end.length >= at && text.endsWith(end)
  }
}

/** Goes through the text once, with all places of the pattern that it can be at. */
function inPlaces(tokens: readonly Token[]): (text: string) => boolean {
  const first = tokens.findIndex((token) => typeof token === 'symbol')
  const start = tokens.slice(0, first).join('')
  const enter = (places: Set<number>, place: number) => {
    places.add(place)
    for (let next = place; typeof tokens[next] === 'symbol'; ) places.add(++next)
  }
  return (text) => {
    if (!text.startsWith(start)) return false
    let places = new Set<number>()
    enter(places, first)
    for (let i = start.length; i < text.length && places.size; i++) {
      const char = text[i]
      const reached = new Set<number>()
      for (const place of places) {
        const token = tokens[place]
        if (token === MANY || (token === SOME && char !== '/')) enter(reached, place)
        else if (token === char) enter(reached, place + 1)
      }
      places = reached
    }
    return places.has(tokens.length)
  }
}
