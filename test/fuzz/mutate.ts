import type { Random } from './random.ts'

type Mutation = (random: Random, text: string, other: string, tokens: readonly string[]) => string

/** Characters that parsers treat specially, and those that readers confuse. */
const CHARS = [
  ...'\0\t\n\r "\'\\/{}[]()<>,;:=%&?#@$`|*+-.!_~^09aAzZ',
  ...['\x7f', '\x85', '\xa0', '\xe9', '\u0130', '\u017f', '\u200b', '\u2028', '\u212a', '\ufeff', '\uff4e'],
  ...['\ud800', '\udc00', '😀', '\\u0000', '%00', '%2e', '\r\n'],
]
const PAIRS = ['[]', '{}', '()', '""', "''", '<>'] as const
const OPENERS = ['[', '{"a":', '(', '- ', '{{if 1}}', '<', '[[', '{"params":'] as const
const LONG = [2, 8, 30, 150, 500, 1500] as const

function span(random: Random, text: string): [number, number] {
  const start = random.below(text.length + 1)
  const length = random.once(4) ? random.below(text.length - start + 1) : random.below(12)
  return [start, Math.min(text.length, start + length)]
}

function insert(text: string, at: number, part: string): string {
  return text.slice(0, at) + part + text.slice(at)
}

/** A spelling of a name that a lenient reader takes for the same. */
function variant(random: Random, name: string): string {
  const at = random.below(name.length)
  const char = name[at] ?? ''
  const code = name.charCodeAt(at)
  const spelled = [
    char.toUpperCase(),
    char.toLowerCase(),
    `\\u${(code || 0).toString(16).padStart(4, '0')}`,
    code > 32 && code < 127 ? String.fromCharCode(code + 0xfee0) : char,
    `${char}\\u0000`,
    `${char}\u200b`,
    ` ${char}`,
    char === 's' ? '\u017f' : char,
  ]
  return name.slice(0, at) + random.pick(spelled) + name.slice(at + 1)
}

const MUTATIONS: Mutation[] = [
  (random, text) => {
    const at = random.below(text.length + 1)
    return text.slice(0, at) + random.pick(CHARS) + text.slice(at + 1)
  },
  (random, text) => {
    const at = random.below(text.length + 1)
    const code = (text.charCodeAt(at) || 65) ^ (1 << random.below(8))
    return text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)
  },
  (random, text) => insert(text, random.below(text.length + 1), random.pick(CHARS)),
  (random, text) => {
    const [start, end] = span(random, text)
    return text.slice(0, start) + text.slice(end)
  },
  (random, text) => {
    const [start, end] = span(random, text)
    return insert(text, end, text.slice(start, end).repeat(1 + random.below(4)))
  },
  (random, text) => {
    const [start, end] = span(random, text)
    return insert(text, random.below(text.length + 1), text.slice(start, end))
  },
  (random, text, _other, tokens) => insert(text, random.below(text.length + 1), random.pick(tokens)),
  (random, text, _other, tokens) => {
    const [start, end] = span(random, text)
    return text.slice(0, start) + random.pick(tokens) + text.slice(end)
  },
  (random, text, other) => {
    const [start, end] = span(random, text)
    const [from, to] = span(random, other)
    return text.slice(0, start) + other.slice(from, to) + text.slice(end)
  },
  (random, text, other) => text.slice(0, random.below(text.length)) + other.slice(random.below(other.length)),
  (random, text) => {
    const [start, end] = span(random, text)
    const pair = random.pick(PAIRS)
    const count = random.pick(LONG) >> 1
    return (
      text.slice(0, start) +
      pair[0]!.repeat(count) +
      text.slice(start, end) +
      pair[1]!.repeat(count) +
      text.slice(end)
    )
  },
  (random, text) =>
    insert(text, random.below(text.length + 1), random.pick(OPENERS).repeat(random.pick(LONG))),
  (random, text) => {
    const at = random.below(text.length + 1)
    return insert(
      text,
      at,
      (random.once(2) ? random.pick(CHARS) : (text[at] ?? '7')).repeat(random.pick(LONG)),
    )
  },
  // A member of an object again, or its name in another spelling.
  (random, text) => {
    const members = [...text.matchAll(/"((?:[^"\\]|\\.){1,40})"\s*:/g)]
    if (members.length === 0) return text
    const member = random.pick(members)
    const name = random.once(3) ? member[1]! : variant(random, member[1]!)
    if (random.once(2))
      return text.slice(0, member.index + 1) + name + text.slice(member.index + 1 + member[1]!.length)
    const value = random.pick(['0', 'null', '"x"', '{}', '[]', '{"name":"hidden"}'])
    return insert(text, member.index, `"${name}":${value},`)
  },
]

/** Another input made of one, or of two. */
export function mutate(
  random: Random,
  text: string,
  other: string,
  tokens: readonly string[],
  maxLength: number,
): string {
  let made = text
  for (let left = 1 + random.below(4); left > 0; left--)
    made = random.pick(MUTATIONS)(random, made, other, tokens)
  return made.length > maxLength ? made.slice(0, maxLength) : made
}
