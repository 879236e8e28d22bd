import { doubleQuoted, type Foreign } from './operators.ts'

/** What to write for methods and properties of other languages; `_` is the value, `,` the arguments. */
const METHODS: Record<string, string> = {
  toUpperCase: 'upper _',
  upper: 'upper _',
  toLowerCase: 'lower _',
  lower: 'lower _',
  trim: 'trim _',
  strip: 'trim _',
  toString: 'toString _',
  length: 'len _',
  size: 'len _',
  split: 'splitList , _',
  join: 'join , _',
  includes: 'contains , _',
  contains: 'contains , _',
  startsWith: 'hasPrefix , _',
  endsWith: 'hasSuffix , _',
  replace: 'replace , _',
  replaceAll: 'replace , _',
  slice: 'slice _ ,',
  substring: 'slice _ ,',
  keys: 'keys _',
  values: 'values _',
  toJSON: 'toJSON _',
}

const CALL = /([.$][\w.]{0,200})\.([A-Za-z]\w{0,100})\(([^()]{0,500})\)/g
const EMPTY = /(?<![\w.$])([A-Za-z]\w*)\(\s*\)/g
const POSITION = /([.$][\w.]{0,200}?)\.(\d{1,20})((?:\.\w+)*)/g

/**
 * Finds methods called behind a dot, functions with empty parentheses, and positions of a list behind a dot.
 * @param masked the action with blanks for quoted text; offsets of the result are into it
 * @param text the action as it is
 * @returns with where all that belongs to it ends
 */
export function findMethods(masked: string, text: string): (Foreign & { end: number })[] {
  const found: (Foreign & { end: number })[] = []
  for (const { index, 0: whole, 1: value, 2: method } of masked.matchAll(CALL)) {
    const start = index + value!.length + 1
    const end = index + whole.length
    const code = call(value!, method!, text.slice(start + method!.length + 1, end - 1))
    found.push({
      at: { start, end },
      end,
      message: `\`${method}\` is not a method: values have none in Go templates`,
      ...(code === undefined
        ? { advice: `Write a function before the value, such as \`upper ${value}\`` }
        : { code: `\`${code}\`` }),
    })
  }
  for (const { index, 0: whole, 1: name } of masked.matchAll(EMPTY)) {
    const end = index + whole.length
    found.push({
      at: { start: index + name!.length, end },
      end,
      message: 'a function is called without parentheses',
      advice: `Remove \`()\` after \`${name}\``,
    })
  }
  for (const { index, 0: whole, 1: value, 2: position, 3: rest } of masked.matchAll(POSITION)) {
    const start = index + value!.length
    const item = `index ${value} ${position}`
    found.push({
      at: { start, end: start + 1 + position!.length },
      end: index + whole.length,
      message: `\`.${position}\` is not a field: \`index\` reads an item of an array`,
      code: `\`${rest ? `(${item})${rest}` : item}\``,
    })
  }
  return found
}

function call(value: string, method: string, args: string): string | undefined {
  if (!Object.hasOwn(METHODS, method)) return undefined
  const list = [...args.matchAll(/"[^"]*"|'[^']*'|[^\s,]+/g)].map(([one]) => doubleQuoted(one))
  const words = METHODS[method]!.split(' ')
  return words.flatMap((word) => (word === '_' ? [value] : word === ',' ? list : [word])).join(' ')
}
