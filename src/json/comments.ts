/** A string, or a comment; what is not closed reaches to the end. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*"?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g
const TOKEN_OR_COMMA = /"(?:[^"\\]|\\[\s\S])*"?|,(?=\s*[}\]])/g

/**
 * JSON with comments, as editors and clients write it, as JSON: comments and commas behind the last member become blanks, so
 * that everything stays at its place.
 * @returns undefined for a text without comments, or that is no JSON without them; `first`: offsets of the first comment
 */
export function withoutComments(text: string): { text: string; first: [number, number] } | undefined {
  if (!/^\uFEFF?\s*(?:[{[]|\/[/*])/.test(text) || !/\/[/*]/.test(text)) return undefined
  let first: [number, number] | undefined
  const bare = text.replace(TOKEN, (token, at: number) => {
    if (token.startsWith('"')) return token
    first ??= [at, at + token.length]
    return token.replace(/[^\r\n]/g, ' ')
  })
  if (!first) return undefined
  const plain = bare.replace(TOKEN_OR_COMMA, (token) => (token === ',' ? ' ' : token))
  try {
    JSON.parse(plain.replace(/^\uFEFF/, ''))
    return { text: plain, first }
  } catch {
    return undefined
  }
}
