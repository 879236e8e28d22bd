import type { Locate, Path, Source } from '../types.ts'

/** Characters of the files whose trees are kept: a tree takes some forty bytes for each. */
const MAX_KEPT = 512 * 1024
/**
 * Of more files none is kept but the last one: where the trees of the first live on, the engine expects it of all, and
 * the garbage collector moves every one of them.
 */
const FEW = 50

/** By what stands for a file. */
const kept = new Map<{ text: string }, Locate>()
/** Characters that may be kept yet. */
let room = 0
/** The one that was looked into last. */
let last: { own: { text: string }; locate: Locate } | undefined

/** So many files are read next. Lets go of every tree: a file that is looked into after that is read again. */
export function expectFiles(files: number): void {
  kept.clear()
  room = files <= FEW ? MAX_KEPT : 0
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
  if (kept.has(own) || own.text.length > room) return
  kept.set(own, locate)
  room -= own.text.length
}
