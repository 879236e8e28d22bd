import { type Document, isMap, type Node, visit, type YAMLError } from 'yaml'

/** What a syntax error means to whoever wrote the file. */
export interface Explained {
  start: number
  end: number
  message: string
  hint: string
}

/** The parser reports where it could not go on, in words of its own; this is where the mistake is, and how to fix it. */
export function explain(error: YAMLError, text: string, doc: Document.Parsed): Explained {
  const [at, end] = error.pos
  const unclosed = openerOf(error, doc)
  if (unclosed !== undefined) {
    const opener = text.charAt(unclosed)
    return {
      start: unclosed,
      end: unclosed + 1,
      message: `this \`${opener}\` is never closed`,
      hint: `Write \`${CLOSERS[opener] ?? opener}\` where it ends`,
    }
  }
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const line = text.slice(lineStart, lineStart + 300).split('\n', 1)[0]!
  const before = text.slice(lineStart, at)
  return { start: at, end: Math.max(end, at + 1), ...wordsOf(error, line, before) }
}

const CLOSERS: Record<string, string> = { '[': ']', '{': '}' }

/** Where the quote, list or map begins that an error says has no end. */
function openerOf({ message, pos: [at] }: YAMLError, doc: Document.Parsed): number | undefined {
  const quote = message.startsWith('Missing closing ')
  if (!quote && !/^Flow \w+ .*\bend with a /.test(message)) return undefined
  let found: number | undefined
  const look = (node: Node) => {
    // Of those that end there, the innermost is told first.
    if (node.range?.[1] === at && node.range[0] < at) found = node.range[0]
  }
  visit(doc, {
    Scalar: (_, node) => {
      if (quote && node.type?.startsWith('QUOTE')) look(node)
    },
    Collection: (_, node) => {
      if (!quote && node.flow && isMap(node) === message.startsWith('Flow map')) look(node)
    },
  })
  return found
}

const UNEVEN = {
  message: 'inconsistent indentation',
  hint: 'Indent the line like the lines around it',
}

function wordsOf(error: YAMLError, line: string, before: string): { message: string; hint: string } {
  const { code } = error
  if (/^(?:<{7}|={7}|>{7})(?: |$)/.test(line))
    return {
      message: 'the file contains a merge conflict',
      hint: 'Choose one side, and remove the markers',
    }
  const message =
    MESSAGES[code] ??
    `${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`
      .replace(/\.$/, '')
      .replace(
        /flow-map-start|flow-seq-start|flow-map-end|flow-seq-end|seq-item-ind/g,
        (name) => TOKENS[name]!,
      )
  if (/(:|-)\s+\{\{/.test(line))
    return { message, hint: 'Put a value that starts with a template in quotes: `"{{…}}"`' }
  if (/(?:^|["'])[^"'{[,]*[{[,][^"']*\$\{/.test(line))
    return { message, hint: 'Inside `{ }` and `[ ]` put `${NAME}` in quotes: `"${NAME}"`' }
  if (error.message.startsWith('Sequence item without')) return UNEVEN
  // On the line of its key it is a second pair, on one of its own it is not where it belongs.
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && /^[\s-]*$/.test(before)) return UNEVEN
  const quoted = code === 'BLOCK_AS_IMPLICIT_KEY' && /^["']/.test(line.slice(before.length))
  if (quoted || (code === 'UNEXPECTED_TOKEN' && /["']\s*$/.test(before)))
    return {
      message: 'unexpected text after the closing quote',
      hint: "Put the whole value in the quotes; inside them write `\\\"` in `\"…\"`, and `''` in `'…'`",
    }
  if (code === 'UNEXPECTED_TOKEN' && error.message.endsWith('at node end'))
    return { message: 'unexpected text after the value', hint: HINT }
  return { message, hint: HINTS[code] ?? HINT }
}

const HINT = 'Fix the YAML here; quote a string that contains special characters'

/** Where the parser speaks of its own affairs. */
const MESSAGES: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'a tab is used as indentation',
  BLOCK_AS_IMPLICIT_KEY: 'a second `key: value` on one line',
  MULTILINE_IMPLICIT_KEY: 'a key without `: `',
  BAD_ALIAS: 'unresolved alias',
}

const TOKENS: Record<string, string> = {
  'flow-map-start': '`{`',
  'flow-seq-start': '`[`',
  'flow-map-end': '`}`',
  'flow-seq-end': '`]`',
  'seq-item-ind': '`-`',
}

const HINTS: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'Indent with spaces, not tabs',
  BAD_SCALAR_START: 'Put the value in quotes',
  BAD_ALIAS: 'Put a string that starts with `*` or `&` in quotes: `"*"`',
  BAD_DQ_ESCAPE: 'Double the backslash, or use single quotes',
  BLOCK_AS_IMPLICIT_KEY: 'Put a value that contains `: ` in quotes, or start a new line',
  MULTILINE_IMPLICIT_KEY: 'A key needs a `:` and a space after it, on its line',
  BAD_INDENT: UNEVEN.hint,
  BLOCK_IN_FLOW: 'Inside `{ }` and `[ ]` put `,` between entries, and write `{ }` and `[ ]` only',
}
