import { functionNames, type Span, type TemplateError } from '../../template/index.ts'
import { nearest } from '../../text/index.ts'
import type { Subject } from '../subjects.ts'
import { KEYWORDS, nearestKeyword } from './keywords.ts'
import { findMethods } from './methods.ts'
import { canonicalHeader, field, type Report, ROOTS } from './names.ts'
import { findOperators } from './operators.ts'
import type { Broken } from './recover.ts'
import type { Ref } from './walk.ts'
import { unknownWord } from './words.ts'

const WORDS = new Set([...functionNames, ...KEYWORDS, 'true', 'false', 'nil'])

/** An action that is never closed reaches to the end of the template; no sound one is so long. */
const MAX_LENGTH = 2000

/** A name behind a dot that a hyphen cuts in two: what is before it, and the name. */
const HYPHENATED = /([.$][\w.]{0,200})?\.([A-Za-z_]\w{0,100}(?:-[A-Za-z_]\w{0,100}){1,10})/g
const BARE = /(?<![\w.$\-"])[A-Za-z_]\w*/g
const FIELDS = /(?<![\w)\]$".])\.[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/g
/** A character constant is one character; longer ones are meant as text. */
const SINGLE_QUOTED = /'(?:[^'\\\n]|\\.){0,500}'/g

/**
 * Looks for mistakes in an action that cannot be parsed, by its text. What the parser said is told only where
 * nothing better was found.
 * @returns what it reads below the root, as far as that can be seen
 */
export function checkBroken({ start, end, errors }: Broken, subject: Subject, report: Report): Ref[] {
  const text = subject.source.slice(start, Math.min(end, start + MAX_LENGTH))
  const found: Span[] = []
  const tell: Report = (code, span, ...rest) => {
    found.push(span)
    report(code, span, ...rest)
  }
  const masked = maskStrings(text)
  let left = masked
  const take = (from: number, to: number) => {
    left = left.slice(0, from) + ' '.repeat(to - from) + left.slice(to)
  }

  const brace = /(?<!\})\}(?!\})/.exec(masked)
  if (brace) {
    const span = { start: start + brace.index, end: start + brace.index + 1 }
    tell('template-syntax', span, 'an action is closed by two braces', 'Write `}}`')
    take(brace.index, masked.length)
  }
  for (const { index, 0: whole } of left.matchAll(SINGLE_QUOTED)) {
    take(index, index + whole.length)
    const content = text.slice(index + 1, index + whole.length - 1)
    if ([...content].length === 1 || content.startsWith('\\')) continue
    const span = { start: start + index, end: start + index + whole.length }
    tell('template-operator', span, 'a text in single quotes', `Write \`${JSON.stringify(content)}\``)
  }
  const refs: Ref[] = []
  for (const match of left.matchAll(HYPHENATED)) {
    const [whole, before = '', name] = match as unknown as [string, string?, string?]
    if (isMinus(before, name!, subject)) continue
    const from = match.index + whole.length - name!.length
    const span = { start: start + from, end: start + from + name!.length }
    const meant = before.endsWith('.Headers') ? canonicalHeader(name!) : name!
    const hint = `Write \`${field(before || '.', meant)}\``
    tell('template-hyphen', span, `a name behind a dot cannot hold a hyphen: \`${name}\``, hint)
    refs.push({ path: [...before.split('.').filter(Boolean), name!], spans: [], ...span })
    take(match.index, match.index + whole.length)
  }
  const read = refs.length
  for (const { span, end, message, hint } of findMethods(left, text)) {
    tell('template-operator', { start: start + span.start, end: start + span.end }, message, hint)
    take(span.start, end)
  }
  for (const match of left.matchAll(FIELDS)) refs.push(fieldRef(match[0], start + match.index))
  for (const { span, message, hint, brackets } of findOperators(left, text)) {
    tell('template-operator', { start: start + span.start, end: start + span.end }, message, hint)
    // What stands between brackets is part of the same mistake.
    if (brackets) take(span.start, span.end)
  }
  for (const { index, 0: word } of left.matchAll(BARE)) {
    if (WORDS.has(word) || /^#|^\//.test(left.slice(index - 1, index))) continue
    const rest = /^(?:\.\w+)*/.exec(left.slice(index + word.length))![0]
    const span = { start: start + index, end: start + index + word.length }
    const keyword = index < 6 ? nearestKeyword(word, text) : undefined
    unknownWord(word, rest, span, subject, tell, keyword, text.slice(index + word.length))
    // `for x in .Args.items`: the other words belong to it.
    if (/^for(?:each)?$/.test(word)) break
    const root = rest ? rootLike(word) : undefined
    if (root) refs.push(fieldRef(`.${root}${rest}`, start + index))
    else if (subject.args.schemas.has(word)) refs.push({ path: ['Args', word], spans: [], start, end })
  }
  if (found.length === 0) for (const error of errors) tellSyntax(error, report)
  // Those with a hyphen are told already, and those of `with` and `range` cannot be told from others.
  return refs.filter(({ path }, i) => i < read || rootLike(path[0]!) !== undefined)
}

/** Names that stand for something below the root, whatever the dot is. */
function rootLike(name: string): string | undefined {
  return ROOTS.find((root) => root.toLowerCase() === name.toLowerCase()) ?? nearest(name, ROOTS)
}

function fieldRef(text: string, start: number): Ref {
  const path = text.slice(1).split('.')
  let at = start
  const spans = path.map((name) => {
    const span = { start: at + 1, end: at + 1 + name.length }
    at = span.end
    return span
  })
  return { path, spans, start, end: start + text.length }
}

/** `.Args.a-b` where `a` is an argument and `a-b` is none. */
function isMinus(before: string, name: string, { args }: Subject): boolean {
  const [first] = name.split('-')
  return before === '.Args' && args.schemas.has(first!) && !args.schemas.has(name)
}

/** The same length, with blanks for what stands in double quotes and backquotes. */
function maskStrings(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|`[^`]*`|["`].*$/gs, (whole) =>
    /^(["`]).*\1$/s.test(whole) ? `"${' '.repeat(whole.length - 2)}"` : ' '.repeat(whole.length),
  )
}

/** What the parser says of an action, where nothing more exact is known. */
export function tellSyntax({ start, end, message, hint }: TemplateError, report: Report): void {
  report('template-syntax', { start, end }, message, hint && hint[0]!.toUpperCase() + hint.slice(1))
}
