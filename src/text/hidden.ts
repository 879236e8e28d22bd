/**
 * Characters that people do not see and models read: controls other than tab and line ends, directions of text
 * (bidi), zero-width characters, variation selectors of the supplement, and tags (U+E0000 to U+E007F).
 */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu

/** None of these: to look for each hidden one would take ten times as long. */
const PLAIN = /^[\t\n\r -~]*$/

/** Characters after which a zero-width joiner or non-joiner is legitimate: emoji, and scripts with joining letters. */
const JOINS =
  /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{M}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Mongolian}|\p{Script=Nko})$/u

/** The text without hidden characters; the same text when it has none. */
export function withoutHidden(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(HIDDEN, (found, at: number) => (belongs(text, found, at) ? found : ''))
}

/** The first hidden character, as `U+202E`; undefined when the text has none. */
export function hiddenIn(text: string): string | undefined {
  if (PLAIN.test(text)) return undefined
  for (const { 0: found, index } of text.matchAll(HIDDEN))
    if (!belongs(text, found, index))
      return `U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
  return undefined
}

function belongs(text: string, found: string, at: number): boolean {
  return (found === '\u200d' || found === '\u200c') && JOINS.test(text.slice(Math.max(0, at - 2), at))
}
