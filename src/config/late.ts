import type { Locate, Path, Source } from './read.ts'

/** Characters of the files whose trees are kept: a tree takes some forty bytes for each. */
const MAX_KEPT = 512 * 1024

/**
 * The trees of the files that came first, by what stands for them: later stages go over the files in the same order.
 * To keep those that came last would help nobody where there are many, and make the garbage collector move each tree.
 */
const kept = new Map<{ text: string }, Locate>()
let characters = 0
/** The one that was looked into last. */
let last: { own: { text: string }; locate: Locate } | undefined

/** Lets go of every tree. A file that is looked into after that is read again. */
export function forgetTrees(): void {
  kept.clear()
  characters = 0
  last = undefined
}

/**
 * A `locate` that holds no tree of nodes for long: most places are asked for while a file is read, or never.
 * @param open reads the file again
 * @param now what `open` would return
 */
export function lateLocator({ text }: Source, open: () => Locate, now: Locate): Locate {
  const own = { text }
  keep(own, now)
  const opened = () => {
    const locate = kept.get(own) ?? (last?.own === own ? last.locate : open())
    keep(own, locate)
    return locate
  }
  const locate = (path: Path, start?: number, end?: number) => opened()(path, start, end)
  return Object.assign(locate, { key: (path: Path) => opened().key(path) })
}

function keep(own: { text: string }, locate: Locate): void {
  last = { own, locate }
  if (kept.has(own) || characters + own.text.length > MAX_KEPT) return
  kept.set(own, locate)
  characters += own.text.length
}
