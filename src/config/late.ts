import type { Locate, Path, Source } from './read.ts'

/** Characters of the files whose trees are kept: a tree takes some forty bytes for each. */
const MAX_KEPT = 512 * 1024

/** Those that were looked into lately, the last one at the end. */
const kept = new Map<{ text: string }, Locate>()
let characters = 0

/**
 * A `locate` that holds no tree of nodes for long: most places are asked for while a file is read, or never.
 * @param open reads the file again
 * @param now what `open` would return
 */
export function lateLocator({ text }: Source, open: () => Locate, now: Locate): Locate {
  const own = { text }
  keep(own, now)
  const opened = () => {
    const locate = kept.get(own) ?? open()
    keep(own, locate)
    return locate
  }
  const locate = (path: Path, start?: number, end?: number) => opened()(path, start, end)
  return Object.assign(locate, { key: (path: Path) => opened().key(path) })
}

function keep(own: { text: string }, locate: Locate): void {
  if (!kept.delete(own)) characters += own.text.length
  kept.set(own, locate)
  for (const oldest of kept.keys()) {
    if (characters <= MAX_KEPT || oldest === own) return
    kept.delete(oldest)
    characters -= oldest.text.length
  }
}
