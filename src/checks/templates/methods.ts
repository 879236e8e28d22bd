import type { Operator } from './operators.ts'

/** What methods and properties of other languages are here; `_` is the value, `,` behind it its arguments. */
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
 * @param masked the action with blanks for what stands in quotes; offsets of the result are into it
 * @param text the action as it is
 */
export function findMethods(masked: string, text: string): (Operator & { end: number })[] {
  const found: (Operator & { end: number })[] = []
  for (const { index, 0: whole, 1: value, 2: method } of masked.matchAll(CALL)) {
    const at = index + value!.length + 1
    const args = text.slice(at + method!.length + 1, index + whole.length - 1)
    found.push({
      span: { start: at, end: index + whole.length },
      end: index + whole.length,
      message: `\`${method}\` is no method: values have none in Go’s templates`,
      hint: cure(value!, method!, args),
    })
  }
  for (const { index, 0: whole, 1: name } of masked.matchAll(EMPTY))
    found.push({
      span: { start: index + name!.length, end: index + whole.length },
      end: index + whole.length,
      message: `a function is called without parentheses`,
      hint: `Remove \`()\` behind \`${name}\``,
    })
  for (const { index, 0: whole, 1: value, 2: position, 3: rest } of masked.matchAll(POSITION)) {
    const at = index + value!.length
    const item = `index ${value} ${position}`
    found.push({
      span: { start: at, end: at + 1 + position!.length },
      end: index + whole.length,
      message: `\`.${position}\` is no field: an item of a list is read by \`index\``,
      hint: `Write \`${rest ? `(${item})${rest}` : item}\``,
    })
  }
  return found
}

function cure(value: string, method: string, args: string): string {
  const form = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined
  if (form === undefined) return `Write a function before the value, such as \`upper ${value}\``
  const list = [...args.matchAll(/"[^"]*"|'[^']*'|[^\s,]+/g)].map(([one]) => one.replace(/^'(.*)'$/, '"$1"'))
  const words = form.split(' ').flatMap((word) => (word === '_' ? [value] : word === ',' ? list : [word]))
  return `Write \`${words.join(' ')}\``
}
