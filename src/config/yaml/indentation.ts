import { counted } from '../../text/index.ts'

/** A line that does not begin where a line of its list or object may. */
export interface Uneven {
  /** Offset of the line, and of its first character that is no space. */
  line: number
  start: number
  message: string
  hint: string
}

/** A column in which entries of an open list or object begin. */
interface Column {
  at: number
  isList: boolean
  /** The first word of the entry, and its line, counted from 1. */
  word: string
  line: number
  offset: number
  /** Whether the entry has a value on its own line. */
  isDone: boolean
}

/** `- `s, then a key with its `:` and what follows. */
const ENTRY =
  /^( *)((?:- +)*)(?:(-)$|((?:(?:"[^"]*"|'[^']*')\s*|[^\s#"'[\]{},&*!|>%@`-][^#:]*|-[^\s#:][^#:]*):)(?:\s+(.*))?$|(.*))/
const BLOCK = /^(?:[&!]\S+ +)*[|>][-+\d]*\s*(?:#.*)?$/

/**
 * The first line up to an offset that looks like an entry and is indented like no entry before it. Quoted texts and
 * `[ ]` over several lines may contain such lines, so the text before the line must be complete.
 * @param mayEndAt whether the text up to an offset is YAML by itself
 */
export function unevenLine(
  text: string,
  until: number,
  mayEndAt: (offset: number) => boolean,
): Uneven | undefined {
  const open: Column[] = []
  let block: { key: number; text?: number } | undefined
  let offset = 0
  let tried = 0
  for (const [i, full] of text.split('\n').entries()) {
    if (offset > until) return undefined
    const line = full.trimEnd()
    const indent = line.search(/\S/)
    const here = offset
    offset += full.length + 1
    if (indent < 0) continue
    if (block && indent > block.key) {
      block.text ??= indent
      if (indent >= block.text) continue
      if (tried++ < MAX_TRIED && mayEndAt(here))
        return {
          line: here,
          start: here + indent,
          message: 'this line of a text is indented less than its first line',
          hint: `Indent it by at least ${spaces(block.text)}`,
        }
    }
    block = undefined
    const [, , dashes = '', bare, key, value = '', other] = ENTRY.exec(line) ?? []
    if (line[indent] === '#' || (other !== undefined && dashes === '')) continue
    if (open.length > 0 && !fits(open, indent, Boolean(dashes || bare))) {
      const found =
        tried++ < MAX_TRIED && mayEndAt(here) ? unevenAt(open, here, indent, dashes || bare) : undefined
      if (found) return found
      continue
    }
    while (open.length > 0 && open.at(-1)!.at >= indent) open.pop()
    const add = (at: number, isList: boolean, word: string, isDone: boolean) =>
      open.push({ at, isList, word, line: i + 1, offset: here, isDone })
    let at = indent
    for (const dash of dashes.match(/- +/g) ?? []) {
      add(at, true, '-', false)
      at += dash.length
    }
    if (bare) add(at, true, '-', false)
    if (key !== undefined) {
      add(at, false, key.slice(0, -1).trimEnd(), value !== '' && !/^[#&!]/.test(value))
      if (BLOCK.test(value)) block = { key: at }
    }
  }
  return undefined
}

/** Candidates whose text before them is parsed. */
const MAX_TRIED = 8

/** Whether an entry may begin in a column: below the last entry, or beside one of its kind. */
function fits(open: readonly Column[], indent: number, isList: boolean): boolean {
  const last = open.at(-1)!
  if (indent > last.at) return !last.isDone
  const beside = open.find(({ at }) => at === indent)
  // The items of a list may begin in the column of its key.
  return beside !== undefined && (beside.isList === isList || (isList && !beside.isDone))
}

function unevenAt(open: readonly Column[], line: number, indent: number, dash: string | undefined): Uneven {
  const [first] = open
  if (indent < first!.at)
    return {
      line: first!.offset,
      start: first!.offset + first!.at,
      message: `this line is indented by ${spaces(first!.at)}, and later lines of the same object are not`,
      hint: indent === 0 ? 'Remove the spaces before it' : `Indent it by ${spaces(indent)}`,
    }
  const last = open.at(-1)!
  const same = open.filter(({ isList }) => isList === Boolean(dash))
  const [near = last] = [...same].sort((a, b) => Math.abs(a.at - indent) - Math.abs(b.at - indent))
  const isTooFar = indent > last.at && last.isDone
  return {
    line,
    start: line + indent,
    message: isTooFar
      ? `this line is indented too far: \`${last.word}\` in line ${last.line} has a value already`
      : open.some(({ at }) => at === indent)
        ? `this line is indented like ${dash ? 'a key' : 'an item'}, and ${dash ? 'begins an item' : 'has a key'}`
        : `this line is indented by ${spaces(indent)}, like no line before it`,
    hint:
      near.at === 0
        ? 'Remove the spaces before it'
        : `Indent it by ${spaces(near.at)}, like line ${near.line}`,
  }
}

const spaces = (count: number) => counted(count, 'space')
