/** Characters of a tool's description, of an argument's, and of what is nested. */
export const LENGTHS = { tool: 500, argument: 240, nested: 160 } as const

/** A description as one line of plain words, cut at the end of a sentence where it is long. */
export function plainText(text: string, longest: number): string {
  const plain = withoutComments(text.slice(0, 20_000))
    .replace(/<\/?[a-zA-Z][^<>]{0,500}>/g, ' ')
    .replace(/!?\[([^\][]{0,300})\]\([^()\s]{0,500}\)/g, '$1')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&nbsp;/g, ' ')
    .replace(/&amp;/g, '&')
    // It would be taken for a comment of the file's author.
    .replace(/plantgw-ignore/g, 'plantgw ignore')
    // What no terminal and no YAML file should hold.
    .replace(/[\p{Cc}\p{Cs}\u2028\u2029\uFEFF\uFFFE\uFFFF]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return cut(plain, longest)
}

function withoutComments(text: string): string {
  let plain = ''
  let at = 0
  for (;;) {
    const start = text.indexOf('<!--', at)
    const end = start < 0 ? -1 : text.indexOf('-->', start)
    if (end < 0) return plain + text.slice(at)
    plain += `${text.slice(at, start)} `
    at = end + 3
  }
}

function cut(text: string, longest: number): string {
  if (text.length <= longest) return text
  const head = text.slice(0, longest - 1)
  const sentence = /^.*[.!?](?=\s)/s.exec(`${head} `)?.[0] ?? ''
  if (sentence.length >= longest / 3) return sentence
  const word = head.replace(/(?<!\s)\s+\S*$/, '')
  return `${(word.length >= longest / 3 ? word : head).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** `pageSize`, `page_size` → `Page size`. */
export function words(name: string): string {
  const apart = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()
  return apart ? apart[0]!.toUpperCase() + apart.slice(1) : 'Value'
}
