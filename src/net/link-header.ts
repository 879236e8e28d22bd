/**
 * The targets of the links with a relation type in a `Link` header (RFC 8288, 3), in their order. Stops at the first
 * part that is no link. Omits links of another context (`anchor`).
 * @param relation in lower case
 */
export function linkTargets(header: string, relation: string): string[] {
  const reader = new LinkReader(header)
  const targets: string[] = []
  for (let link = reader.link(); link; link = reader.link()) {
    const { rel = '', anchor } = link.params
    const relations = rel.toLowerCase().split(/[ \t]+/)
    if (anchor === undefined && relations.includes(relation)) targets.push(link.target)
  }
  return targets
}

interface Link {
  target: string
  /** The first `rel` and `anchor` count. */
  params: { rel?: string; anchor?: string }
}

/** Parses from left to right, in linear time (RFC 8288, B.2). */
class LinkReader {
  private at = 0

  constructor(private readonly text: string) {}

  /** The next link; undefined at the end. */
  link(): Link | undefined {
    while (this.text[this.at] === ',' || this.isSpace()) this.at++
    if (this.text[this.at] !== '<') return undefined
    const end = this.text.indexOf('>', this.at)
    if (end < 0) return undefined
    const target = this.text.slice(this.at + 1, end)
    this.at = end + 1
    const params: Link['params'] = {}
    while (this.take(';')) {
      const name = this.until('=;,').trim().toLowerCase()
      const value = this.take('=') ? this.value() : ''
      if ((name === 'rel' || name === 'anchor') && params[name] === undefined) params[name] = value
    }
    return { target, params }
  }

  private value(): string {
    if (!this.take('"')) return this.until(';,').trim()
    let value = ''
    while (this.at < this.text.length) {
      let character = this.text[this.at++]
      if (character === '"') break
      if (character === '\\') character = this.text[this.at++]
      value += character ?? ''
    }
    return value
  }

  private until(ends: string): string {
    const start = this.at
    while (this.at < this.text.length && !ends.includes(this.text[this.at] as string)) this.at++
    return this.text.slice(start, this.at)
  }

  private take(character: string): boolean {
    while (this.isSpace()) this.at++
    if (this.text[this.at] !== character) return false
    this.at++
    return true
  }

  private isSpace(): boolean {
    return this.text[this.at] === ' ' || this.text[this.at] === '\t'
  }
}
