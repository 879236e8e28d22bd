import type { Node, Tree } from '../node.ts'

/** Progress of the literal text as a JSON frame. */
interface Frame {
  /** Open brackets, then `"` inside a string, and `\` after a backslash there. */
  stack: string
  /** Whether there was a complete value; `maybe`: in some branches. */
  whole: 'no' | 'maybe' | 'yes'
  /** The literal being read outside strings, such as `tru`. */
  word: string
}

const START: Frame = { stack: '', whole: 'no', word: '' }
/** Longer than any number in a template. */
const MAX_WORD = 400
const LITERAL = /^(?:true|false|null|-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?)$/

/**
 * Whether the literal text is the frame of JSON objects or arrays, on every path through its branches: `{"id":
 * {{.id}}}` and `{{if .ok}}{"id": {{.id}}}{{end}}` are, `[{{.name}}](http://example.org)` is not.
 * @param several whether several may follow each other
 */
export function isJsonFrame(tree: Tree, several = false): boolean {
  const calls: string[] = []
  const known = new Map<string, Frame | undefined>()

  function list(nodes: readonly Node[], start: Frame): Frame | undefined {
    let frame: Frame | undefined = start
    for (const node of nodes) {
      frame = one(node, frame)
      if (!frame) return undefined
    }
    return frame
  }

  function one(node: Node, frame: Frame): Frame | undefined {
    switch (node.type) {
      case 'text':
        return text(frame, node.text, several)
      case 'action':
        if (node.pipe.declarations.length > 0) return frame
        return frame.stack === '' ? undefined : { ...frame, word: '' }
      case 'template': {
        const body = tree.definitions.get(node.name)
        if (!body || calls.includes(node.name)) return frame
        const key = JSON.stringify([node.name, frame])
        if (known.has(key)) return known.get(key)
        calls.push(node.name)
        const end = list(body, frame)
        calls.pop()
        known.set(key, end)
        return end
      }
      case 'break':
      case 'continue':
        return frame
      default: {
        const first = list(node.list, frame)
        const second = node.elseList ? list(node.elseList, frame) : frame
        return first && second && joined(first, second)
      }
    }
  }

  const end = list(tree.root, START)
  return end?.stack === '' && end.whole !== 'no'
}

function joined(a: Frame, b: Frame): Frame | undefined {
  if (a.stack !== b.stack) return undefined
  return a.stack !== '' || a.whole === b.whole ? a : { ...START, whole: 'maybe' }
}

function text(start: Frame, source: string, several: boolean): Frame | undefined {
  const frame = { ...start }
  const wordEnds = () => {
    const good = frame.word === '' || LITERAL.test(frame.word)
    frame.word = ''
    return good
  }
  for (const char of source) {
    const top = frame.stack.at(-1)
    const opens = char === '{' || char === '['
    if (top === '\\' || (top === '"' && char === '"')) frame.stack = frame.stack.slice(0, -1)
    else if (top === '"') frame.stack += char === '\\' ? char : ''
    else if (' \t\r\n'.includes(char) || (top && ',:'.includes(char))) {
      if (!wordEnds()) return undefined
    } else if (!top && ((frame.whole === 'yes' && !several) || !opens)) return undefined
    else if (opens || char === '"') frame.stack += char
    else if (char === '}' || char === ']') {
      if (!wordEnds() || top !== (char === '}' ? '{' : '[')) return undefined
      frame.stack = frame.stack.slice(0, -1)
      if (frame.stack === '') frame.whole = 'yes'
    } else {
      frame.word += char
      if (frame.word.length > MAX_WORD) return undefined
    }
  }
  return frame
}
