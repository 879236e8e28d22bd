/** `30 s`, `250 ms`. */
export function timeText(milliseconds: number): string {
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000} s` : `${milliseconds} ms`
}

/** `10 MiB`, `512 KiB`, `100 bytes`. */
export function sizeText(bytes: number): string {
  if (bytes >= 2 ** 20 && bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20} MiB`
  if (bytes >= 2 ** 10 && bytes % 2 ** 10 === 0) return `${bytes / 2 ** 10} KiB`
  return `${bytes} bytes`
}

/** The text, or its beginning and how much there was. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  return `${wellFormed(text.slice(0, length))}… (${text.length} characters in all)`
}

/** The text with U+FFFD for every lone surrogate. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}

/** Makes a value at its first use, once. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
