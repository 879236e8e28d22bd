import type { Node, Span, TextNode, Tree } from '../../template/index.ts'

/** So many texts may not be found again: each look goes through all of the output. */
const MAX_LOST = 200

interface Walk {
  output: string
  offset: number
  /** Where in the output the search is. */
  at: number
  lost: number
  /** Whether something of unknown length was written since the last text. */
  gap: boolean
  /** What wrote it last. */
  action: Span | undefined
}

/**
 * The place in the template that wrote a place of the output: texts of the template are found one after the
 * other, and what stands between two of them is what the actions between them wrote.
 */
export function placeOf(tree: Tree, output: string, offset: number): Span | undefined {
  const walk: Walk = { output, offset, at: 0, lost: 0, gap: false, action: undefined }
  const found = inList(tree.root, walk)
  if (typeof found === 'object') return found
  if (walk.lost > MAX_LOST) return undefined
  const last = tree.root.at(-1)
  if (offset >= output.length && last) return { start: Math.max(last.start, last.end - 1), end: last.end }
  return walk.action
}

/** The place, or whether the texts of this list, as far as that is known, were written. */
function inList(list: readonly Node[], walk: Walk): Span | boolean {
  for (const node of list) {
    if (walk.lost > MAX_LOST) return false
    if (node.type === 'text') {
      const found = inText(node, walk)
      if (found !== true) return found
    } else if (node.type === 'action') {
      if (node.pipe.declarations.length > 0) continue
      walk.action = node
      walk.gap = true
    } else if ('list' in node) {
      const before = { ...walk }
      let found = inList(node.list, walk)
      if (found === false) {
        // It is the other branch that was written.
        Object.assign(walk, before, { lost: walk.lost })
        found = inList(node.elseList ?? [], walk)
        if (found === false) Object.assign(walk, before, { lost: walk.lost })
      }
      if (typeof found === 'object') return found
      // It may have been written again and again.
      if (node.type === 'range') walk.gap = true
    } else walk.gap = true
  }
  return true
}

function inText(node: TextNode, walk: Walk): Span | boolean {
  const { output, offset, at, action } = walk
  const found = walk.gap ? output.indexOf(node.text, at) : output.startsWith(node.text, at) ? at : -1
  if (found < 0) {
    walk.lost++
    return false
  }
  if (offset < found) return action ?? { start: node.start, end: node.start + 1 }
  walk.at = found + node.text.length
  walk.gap = false
  if (offset >= walk.at) return true
  const start = node.start + offset - found
  return { start, end: start + 1 }
}
