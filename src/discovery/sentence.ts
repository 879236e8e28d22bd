/** The first sentence of a description, and the rest of it. */
export function firstSentence(text: string): [first: string, rest: string] {
  const end = /(?:[.!?](?=\s)|[。！？]|\n)/u.exec(text.slice(0, 1_000))
  const at = end ? end.index + 1 : text.length
  return [text.slice(0, at).trim(), text.slice(at).trim()]
}
