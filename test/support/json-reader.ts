/** A JSON text as it is written: members of objects in their order, also those of the same name. */
export type Written =
  | { kind: 'object'; members: { key: string; value: Written }[] }
  | { kind: 'array'; items: Written[] }
  | { kind: 'number'; text: string }
  | { kind: 'string'; value: string }
  | { kind: 'word' }

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const STRING = /"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const WORD = /true|false|null/y
const SPACE = /[ \t\n\r]*/y

/** Reads JSON (RFC 8259) by other means than the code under test. @throws SyntaxError */
export function readWritten(text: string): Written {
  let at = 0
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    at += found?.length ?? 0
    return found
  }
  const take = (char: string): boolean => {
    match(SPACE)
    if (text[at] !== char) return false
    at++
    return true
  }
  const need = (char: string): void => {
    if (!take(char)) throw new SyntaxError(`"${char}" is missing at ${at}`)
  }
  const string = (): string => {
    match(SPACE)
    const found = match(STRING)
    if (found === undefined) throw new SyntaxError(`a string is missing at ${at}`)
    return JSON.parse(found)
  }
  const value = (): Written => {
    if (take('{')) {
      const members: { key: string; value: Written }[] = []
      if (take('}')) return { kind: 'object', members }
      do {
        const key = string()
        need(':')
        members.push({ key, value: value() })
      } while (take(','))
      need('}')
      return { kind: 'object', members }
    }
    if (take('[')) {
      const items: Written[] = []
      if (take(']')) return { kind: 'array', items }
      do items.push(value())
      while (take(','))
      need(']')
      return { kind: 'array', items }
    }
    if (text[at] === '"') return { kind: 'string', value: string() }
    const number = match(NUMBER)
    if (number !== undefined) return { kind: 'number', text: number }
    if (match(WORD) !== undefined) return { kind: 'word' }
    throw new SyntaxError(`a value is missing at ${at}`)
  }
  const read = value()
  match(SPACE)
  if (at < text.length) throw new SyntaxError(`something follows at ${at}`)
  return read
}

/** How deep arrays and objects nest; 0 for other values. */
export function depthOf(written: Written): number {
  if (written.kind === 'object') return 1 + Math.max(0, ...written.members.map(({ value }) => depthOf(value)))
  if (written.kind === 'array') return 1 + Math.max(0, ...written.items.map(depthOf))
  return 0
}

/** All numbers, in their order. */
export function numbersOf(written: Written): string[] {
  if (written.kind === 'object') return written.members.flatMap(({ value }) => numbersOf(value))
  if (written.kind === 'array') return written.items.flatMap(numbersOf)
  return written.kind === 'number' ? [written.text] : []
}

/** The names that are judged, at the top of a message and in its params. */
const OF_MESSAGE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
const OF_PARAMS = ['name', 'arguments', 'uri', '_meta']

/** A key as the most lenient readers compare it: case, width and what is not seen make no difference. */
export function folded(key: string): string {
  return key
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\0-\x20\x7f\s\p{Cf}]/gu, '')
}

/** Whether another reader may see another message: a key that stands twice, or in another spelling. */
export function isAmbiguous(message: Written): boolean {
  if (message.kind !== 'object') return false
  if (confusing(message.members, OF_MESSAGE)) return true
  const params = message.members.find(({ key }) => key === 'params')?.value
  return params?.kind === 'object' && confusing(params.members, OF_PARAMS)
}

function confusing(members: readonly { key: string }[], names: readonly string[]): boolean {
  return names.some((name) => {
    const alike = members.filter(({ key }) => folded(key) === name)
    return alike.length > 1 || alike.some(({ key }) => key !== name)
  })
}
