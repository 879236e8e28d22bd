import { JSON_LIMITS } from '../../json/index.ts'
import { isJsonType } from '../../text/index.ts'
import type { Node, Tree } from '../node.ts'
import type { Place } from '../types.ts'

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
    else if (opens || char === '"') {
      // No JSON that the gateway reads is nested deeper.
      if (frame.stack.length > JSON_LIMITS.depth) return undefined
      frame.stack += char
    } else if (char === '}' || char === ']') {
      if (!wordEnds() || top !== (char === '}' ? '{' : '[')) return undefined
      frame.stack = frame.stack.slice(0, -1)
      if (frame.stack === '') frame.whole = 'yes'
    } else {
      frame.word += char
      // Longer than any number in a template.
      if (frame.word.length > 400) return undefined
    }
  }
  return frame
}

const FORM = 'application/x-www-form-urlencoded'
/** A JSON value on each line, or after each record separator. */
const JSON_LINES =
  /^(?:application|text)\/(?:x-)?(?:ndjson|ldjson|jsonl|jsonlines|json-lines|json-seq)$|\+(?:x-)?(?:ndjson|jsonl|json-seq)$|^application\/stream\+json$/
const XML = /^(?:application|text)\/xml$|\+xml$/

/**
 * The escaping of values in a body of this media type (in lower case).
 * @param mediaType undefined: known only at a call
 */
export function bodyPlace(mediaType: string | undefined): Place {
  if (mediaType === undefined || mediaType === 'text/plain') return 'auto-body'
  if (mediaType === FORM) return 'form'
  if (JSON_LINES.test(mediaType)) return 'json-lines'
  if (isJsonType(mediaType)) return 'json'
  return XML.test(mediaType) ? 'xml' : 'verbatim'
}
