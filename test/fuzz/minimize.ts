/** Tries at the most. */
const MAX_TRIES = 3000

/** Takes parts out of a failing input for as long as it fails. */
export async function minimize(input: string, fails: (input: string) => Promise<boolean>): Promise<string> {
  let small = input
  let tries = 0
  for (let size = Math.max(1, small.length >> 1); ; size = size >> 1) {
    for (let at = 0; at < small.length; ) {
      if (++tries > MAX_TRIES) return small
      const shorter = small.slice(0, at) + small.slice(at + size)
      if (await fails(shorter)) small = shorter
      else at += size
    }
    if (size <= 1) return small
  }
}
