/** A fault in a text that should be JSON: its position and what was expected. */
export interface JsonFault {
  offset: number
  message: string
  /** An instruction. */
  hint: string
  /** A missing or extra comma, which no value can cause. */
  comma?: 'missing' | 'extra'
}

const REMOVE_COMMA = 'Remove the comma before it'
const SPACE = /[ \t\r\n]*/y
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/** The first fault of a text by RFC 8259; undefined if valid. Works without recursion, in linear time. */
export function jsonFault(text: string): JsonFault | undefined {
  return isJson(text) ? undefined : firstFault(text)
}

/** `JSON.parse` finds out much faster whether there is one. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function firstFault(text: string): JsonFault | undefined {
  let at = 0
  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at += found[0].length
    return found !== null
  }
  const stack: string[] = []
  /** `first` and `item`: the beginning or continuation of an object or array. */
  let want: 'value' | 'first' | 'item' | 'next' = 'value'
  const fault = (expected: string, hint: string, comma?: JsonFault['comma']): JsonFault => ({
    offset: at,
    message: `${expected}, but ${seen(text, at)}`,
    hint,
    ...(comma && { comma }),
  })
  for (;;) {
    match(SPACE)
    const char = text[at]
    const open = stack.at(-1)
    const close = open === '{' ? '}' : ']'
    if (open !== undefined && char === close && (want === 'first' || want === 'next')) {
      stack.pop()
      at++
      want = 'next'
    } else if (want === 'next') {
      if (open === undefined)
        return at < text.length ? fault('the JSON should end here', 'Remove what follows it') : undefined
      if (char !== ',') {
        const ended = char === undefined || char === '}' || char === ']'
        const outer = stack.at(-2) === (char === '}' ? '{' : '[')
        const where = char === undefined ? 'at the end' : outer ? 'before it' : 'instead'
        const expected = `\`,\` or \`${close}\` should stand here`
        if (!ended) return fault(expected, 'Write a comma before it', 'missing')
        return fault(expected, `Write \`${close}\` ${where}`)
      }
      at++
      want = 'item'
    } else if (open === '{' && want !== 'value') {
      if (!match(STRING)) {
        const expected = 'a key in double quotes should stand here'
        if (char === '}') return fault(expected, REMOVE_COMMA, 'extra')
        if (char === ',') return fault(expected, 'Remove the comma', 'extra')
        if (char === undefined) return fault(expected, 'Write `}` at the end')
        return fault(expected, 'Put the key in double quotes')
      }
      match(SPACE)
      if (text[at] !== ':') return fault('`:` should stand here', 'Write `:` between key and value')
      at++
      want = 'value'
    } else if (char === '{' || char === '[') {
      stack.push(char)
      at++
      want = 'first'
    } else if (match(STRING) || match(LITERAL)) want = 'next'
    else {
      const expected = 'a value should stand here'
      if (want === 'item' && char === ']') return fault(expected, REMOVE_COMMA, 'extra')
      if (char === ',') return fault(expected, 'Remove the comma, or write a value', 'extra')
      const isWord = char !== undefined && /[^}\]:]/.test(char)
      return fault(expected, isWord ? 'Put the string in double quotes' : 'Write a value, such as `null`')
    }
  }
}

function seen(text: string, at: number): string {
  if (at >= text.length) return 'the text ends'
  const word = /[^\s,:[\]{}]{1,20}/y
  word.lastIndex = at
  const found = word.exec(text)?.[0] ?? text[at]!
  return `there is \`${found}\``
}
