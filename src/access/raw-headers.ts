/**
 * How many headers of a request have a name: Node reads the first of those that a request may have once.
 * @param name in lower case
 * @param rawHeaders names and values in turn; absent: none is known
 */
export function countOf(name: string, rawHeaders: readonly string[] = []): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const one = rawHeaders[i] as string
    if (one.length === name.length && one.toLowerCase() === name) count++
  }
  return count
}
