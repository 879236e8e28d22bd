/**
 * Number of headers with a name: Node keeps only the first of headers that may occur once.
 * @param name in lower case
 * @param rawHeaders alternating names and values; absent: unknown
 */
export function countOf(name: string, rawHeaders: readonly string[] = []): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const one = rawHeaders[i] as string
    if (one.length === name.length && one.toLowerCase() === name) count++
  }
  return count
}
