import { quote } from '../../text/index.ts'

/** A step of a path: a named member, every member, every item, or any depth. */
export type Step = { member: string } | 'members' | 'items' | 'deep'

/** A path of a mask, the part taken of its value, and the name of the result. */
export interface Entry {
  /** Absent: the original place is kept. */
  name?: string
  steps: Step[]
  /** Absent: the whole value. */
  fields?: Entry[]
  /** Position in the text of the mask. */
  start: number
  end: number
}

/** A fault in the text of a mask, as the end of a sentence, with its position. */
export interface MaskFault {
  fault: string
  start: number
  end: number
}

/** Limits of masks, so that none can block the event loop. */
const MASK_LIMITS = { characters: 8_000, entries: 200, depth: 32 } as const

const NAME = /[^\s.,:{}[\]*"]+/y
const TEXT = /"(?:[^"\\]|\\.)*"/y
const SPACE = /\s*/y

/** The entries of a mask such as `items[].{id, title, user: user.login}`, or the first fault. */
export function parseMask(text: string): Entry[] | MaskFault {
  if (text.length > MASK_LIMITS.characters)
    return { fault: `is longer than ${MASK_LIMITS.characters} characters`, start: 0, end: text.length }
  try {
    return new Parser(text).mask()
  } catch (error) {
    if (error instanceof ParseError) return { fault: error.message, start: error.start, end: error.end }
    throw error
  }
}

class ParseError extends Error {
  constructor(
    message: string,
    readonly start: number,
    readonly end: number,
  ) {
    super(message)
  }
}

class Parser {
  private at = 0
  private entries = 0

  constructor(private readonly text: string) {}

  mask(): Entry[] {
    const entries = this.list(0)
    if (this.at < this.text.length) throw this.unexpected()
    return entries
  }

  private list(depth: number): Entry[] {
    if (depth > MASK_LIMITS.depth)
      throw this.parseError(`has braces nested deeper than ${MASK_LIMITS.depth} levels`)
    const entries = [this.entry(depth)]
    while (this.take(',')) entries.push(this.entry(depth))
    return entries
  }

  private entry(depth: number): Entry {
    this.space()
    const start = this.at
    if (++this.entries > MASK_LIMITS.entries)
      throw this.parseError(`has more than ${MASK_LIMITS.entries} entries`)
    const name = this.outputName()
    const steps: Step[] = []
    let fields = this.fields(depth)
    if (!fields) {
      steps.push(this.step(true))
      for (;;) {
        if (this.take('.')) {
          fields = this.fields(depth)
          if (fields) break
          steps.push(this.step(false))
        } else if (this.peek() === '[') steps.push(this.step(true))
        else break
      }
    }
    const end = this.text.slice(0, this.at).trimEnd().length
    if (steps.at(-1) === 'deep')
      throw new ParseError('ends in `**`, which needs a name behind it, such as `**.url`', start, end)
    return { ...(name !== undefined && { name }), steps, ...(fields && { fields }), start, end }
  }

  /** The name before a colon; undefined without one. */
  private outputName(): string | undefined {
    const before = this.at
    const name = this.word()
    if (name !== undefined && this.take(':')) return name
    this.at = before
    return undefined
  }

  private fields(depth: number): Entry[] | undefined {
    this.space()
    const open = this.at
    if (!this.take('{')) return undefined
    const fields = this.list(depth + 1)
    if (!this.take('}')) {
      if (this.at < this.text.length) throw this.unexpected()
      throw new ParseError('has no `}` for this `{`', open, open + 1)
    }
    return fields
  }

  private step(first: boolean): Step {
    this.space()
    const start = this.at
    if (first && this.take('[')) {
      if (this.take(']')) return 'items'
      throw new ParseError('has `[` without `]`; `[]` stands for every item', start, start + 1)
    }
    if (this.take('*')) return this.text[this.at] === '*' && this.take('*') ? 'deep' : 'members'
    const member = this.word()
    if (member === undefined) throw this.unexpected()
    return { member }
  }

  private word(): string | undefined {
    this.space()
    const start = this.at
    const bare = this.match(NAME)
    if (bare !== undefined) return bare
    const text = this.match(TEXT)
    if (text === undefined) return undefined
    try {
      return JSON.parse(text) as string
    } catch {
      throw new ParseError('has a quoted name that is not a JSON string', start, this.at)
    }
  }

  private peek(): string | undefined {
    this.space()
    return this.text[this.at]
  }

  private take(character: string): boolean {
    if (this.peek() !== character) return false
    this.at++
    return true
  }

  private space(): void {
    this.match(SPACE)
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found) this.at += found.length
    return found || undefined
  }

  private unexpected(): ParseError {
    const found = this.peek()
    if (found === undefined) return this.parseError('ends where a name is expected')
    return new ParseError(`has ${quote(found)} where it is not expected`, this.at, this.at + 1)
  }

  private parseError(message: string): ParseError {
    return new ParseError(message, this.at, this.text.length)
  }
}
