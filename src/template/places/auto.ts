import type { Node, Tree } from '../node.ts'

/** `maybe`: nothing yet, or a whole value, as a branch was taken or not. */
type Phase = 'before' | 'inside' | 'after' | 'maybe'

/** How far the template's own text has come as a JSON frame. */
interface Frame {
  phase: Phase
  /** Open brackets. */
  stack: string
  /** Inside of a string; `\` behind a backslash. */
  string: '' | '"' | '\\'
  /** The literal that is being read outside of strings, such as `tru`. */
  word: string
}

const START: Frame = { phase: 'before', stack: '', string: '', word: '' }
/** No number of a template is longer. */
const MAX_WORD = 400
const LITERAL = /^(?:true|false|null|-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?)$/

/**
 * True when the template's own text is the frame of JSON objects or arrays, one in a row or one in each branch, on
 * every way through its branches: `{"id": {{.id}}}` and `{{if .ok}}{"id": {{.id}}}{{end}}` are,
 * `[{{.name}}](http://example.org)` is not.
 */
export function isJsonFrame(tree: Tree): boolean {
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
        return text(frame, node.text)
      case 'action':
        if (node.pipe.declarations.length > 0) return frame
        return frame.phase === 'inside' ? { ...frame, word: '' } : undefined
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
  return end?.phase === 'after' || end?.phase === 'maybe'
}

function joined(a: Frame, b: Frame): Frame | undefined {
  if (alike(a, b)) return a
  const outside = a.stack === '' && b.stack === '' && a.string === '' && b.string === ''
  return outside && a.phase !== 'inside' && b.phase !== 'inside' ? { ...START, phase: 'maybe' } : undefined
}

function alike(a: Frame, b: Frame): boolean {
  return a.phase === b.phase && a.stack === b.stack && a.string === b.string
}

function text(start: Frame, source: string): Frame | undefined {
  const frame = { ...start }
  const wordEnds = () => {
    const good = frame.word === '' || LITERAL.test(frame.word)
    frame.word = ''
    return good
  }
  for (const char of source) {
    if (frame.string !== '') {
      if (frame.string === '\\') frame.string = '"'
      else if (char === '\\') frame.string = '\\'
      else if (char === '"') frame.string = ''
      continue
    }
    if (' \t\r\n'.includes(char)) {
      if (!wordEnds()) return undefined
      continue
    }
    if (frame.phase === 'after') return undefined
    if (frame.phase !== 'inside' && char !== '{' && char !== '[') return undefined
    if (char === '{' || char === '[') {
      frame.stack += char
      frame.phase = 'inside'
    } else if (char === '}' || char === ']') {
      if (!wordEnds() || frame.stack.at(-1) !== (char === '}' ? '{' : '[')) return undefined
      frame.stack = frame.stack.slice(0, -1)
      if (frame.stack === '') frame.phase = 'after'
    } else if (char === '"') frame.string = '"'
    else if (char === ',' || char === ':') {
      if (!wordEnds()) return undefined
    } else {
      frame.word += char
      if (frame.word.length > MAX_WORD) return undefined
    }
  }
  return frame
}
