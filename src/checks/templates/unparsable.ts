import { type FindingCode, suggest } from '../../findings/index.ts'
import { functionNames, type Span, type TemplateError } from '../../template/index.ts'
import { canonicalHeader, capital, nearest } from '../../text/index.ts'
import type { Subject } from '../subjects.ts'
import { FIELDS_OF, field, meantBy, ROOTS } from './known-names.ts'
import { IN_SINGLE_QUOTES } from './node-checks.ts'
import { findMethods, findOperators, hintOf } from './other-languages.ts'
import type { Unparsable } from './recover.ts'
import type { Ref, TemplateReporter } from './walk.ts'

/** A name after a dot, split by a hyphen: the part before it, and the name. */
const HYPHENATED =
  /((?<![\w.$\-"])[.$A-Za-z_][\w.]{0,200})?\.([A-Za-z_]\w{0,100}(?:-[A-Za-z_]\w{0,100}){1,10})/g
const BARE = /(?<![\w.$\-"])[A-Za-z_]\w*/g
const FIELDS = /(?<![\w)\]$".])\.[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/g
/** A character constant is a single character; longer ones are meant as text. */
const SINGLE_QUOTED = /'(?:[^'\\\n]|\\.){0,500}'/g

/**
 * Finds mistakes in the text of an unparsable action. The parser's error is reported only if nothing better is found.
 * @returns its references below the root, as far as recognizable
 */
export function checkUnparsable(
  { start, end, errors }: Unparsable,
  subject: Subject,
  report: TemplateReporter,
): Ref[] {
  // An unclosed action extends to the end of the template; valid ones are shorter.
  const text = subject.source.slice(start, Math.min(end, start + 2000))
  let isSilent = true
  const reportFound: TemplateReporter = (one) => {
    isSilent = false
    report(one)
  }
  /** @param from offset in the action */
  const mistake = (code: FindingCode, from: number, to: number, message: string, hint: string) =>
    reportFound({ code, at: { start: start + from, end: start + to }, message, hint })
  const masked = maskStrings(text)
  let left = masked
  const take = (from: number, to: number) => {
    left = left.slice(0, from) + ' '.repeat(to - from) + left.slice(to)
  }

  const brace = /(?<!\})\}(?!\})/.exec(masked)
  if (brace) {
    mistake(
      'template-syntax',
      brace.index,
      brace.index + 1,
      'an action is closed by two braces',
      'Write `}}`',
    )
    take(brace.index, masked.length)
  }
  for (const { index, 0: whole } of left.matchAll(SINGLE_QUOTED)) {
    const to = index + whole.length
    take(index, to)
    const content = text.slice(index + 1, to - 1)
    if ([...content].length === 1 || content.startsWith('\\')) continue
    mistake('template-operator', index, to, IN_SINGLE_QUOTES, `Write \`${JSON.stringify(content)}\``)
  }
  const refs: Ref[] = []
  for (const match of left.matchAll(HYPHENATED)) {
    const [whole, given = '', name] = match as unknown as [string, string?, string?]
    const [first = '', ...others] = given.split('.')
    const folded = foldedPath(first, `.${others.join('.')}`, subject)
    const before = folded ? folded.path + given.slice(folded.read.length) : given
    if (isMinus(before, name!, subject)) continue
    const to = match.index + whole.length
    const from = to - name!.length
    const meant = before.endsWith('.Headers') ? canonicalHeader(name!) : name!
    const hint = `Write \`${field(before || '.', meant)}\``
    mistake('template-hyphen', from, to, `a name after a dot cannot contain a hyphen: \`${name}\``, hint)
    const path = [...before.split('.').filter(Boolean), name!]
    refs.push({ path, spans: [], start: start + from, end: start + to })
    take(match.index, to)
  }
  const read = refs.length
  for (const { at, end, ...found } of findMethods(left, text)) {
    mistake('template-operator', at.start, at.end, found.message, hintOf(found))
    take(at.start, end)
  }
  for (const match of left.matchAll(FIELDS)) refs.push(fieldRef(match[0], start + match.index))
  for (const { at, brackets, ...found } of findOperators(left, text)) {
    mistake('template-operator', at.start, at.end, found.message, hintOf(found))
    // Text between brackets belongs to the same mistake.
    if (brackets) take(at.start, at.end)
  }
  refs.push(...checkWords(left, text, start, subject, reportFound))
  if (isSilent) for (const error of errors) reportSyntax(error, report)
  // Hyphenated names are already reported, and those of `with` and `range` are ambiguous.
  return refs.filter(({ path }, i) => i < read || rootLike(path[0]!) !== undefined)
}

/** Checks bare words that are not functions; @returns what they probably read. */
function checkWords(
  left: string,
  text: string,
  start: number,
  subject: Subject,
  report: TemplateReporter,
): Ref[] {
  const refs: Ref[] = []
  for (const { index, 0: word } of left.matchAll(BARE)) {
    if (WORDS.has(word) || /^#|^\//.test(left.slice(index - 1, index))) continue
    const behind = index + word.length
    const rest = /^(?:\.\w+)*/.exec(left.slice(behind))![0]
    const at = { start: start + index, end: start + behind }
    const folded = foldedPath(word, rest, subject)
    if (folded) {
      const { path, read } = folded
      const end = at.start + read.length
      const message = `\`${word}\` is not a value`
      report({
        code: 'template-root',
        at: { ...at, end },
        message,
        suggestion: path + rest.slice(read.length - word.length),
        fix: path,
      })
      refs.push({
        ...fieldRef(`.${word}${rest}`, at.start - 1),
        path: `${path}${rest.slice(read.length - word.length)}`.slice(1).split('.'),
      })
      continue
    }
    const keyword = index < 6 ? nearestKeyword(word, text) : undefined
    unknownWord(word, rest, at, subject, report, keyword, text.slice(behind))
    // In `for x in .Args.items`, the other words belong to it.
    if (/^for(?:each)?$/.test(word)) break
    const root = rest ? rootLike(word) : undefined
    // The leading dot is missing.
    if (root) refs.push({ ...fieldRef(`.${word}${rest}`, at.start - 1), path: `${root}${rest}`.split('.') })
    else if (subject.args.schemas.has(word)) refs.push({ path: ['Args', word], spans: [], ...at })
  }
  return refs
}

/** `response.data` of other template languages in Go syntax, and the length of the text it replaces. */
function foldedPath(
  word: string,
  rest: string,
  { roots }: Subject,
): { path: string; read: string } | undefined {
  const root = rest === '' ? undefined : Object.keys(roots).find((one) => isFolded(one, word))
  if (!root) return undefined
  const [, name = ''] = rest.split('.')
  const field = FIELDS_OF[root]?.find((one) => isFolded(one, name))
  return field === undefined || field === name
    ? { path: `.${root}`, read: word }
    : { path: `.${root}.${field}`, read: `${word}.${name}` }
}

function isFolded(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase()
}

/** The root that a name means, regardless of the dot. */
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

/** `.Args.a-b` with an argument `a` but no argument `a-b`. */
function isMinus(before: string, name: string, { args }: Subject): boolean {
  const [first] = name.split('-')
  return before === '.Args' && args.schemas.has(first!) && !args.schemas.has(name)
}

/** The text with quoted strings blanked, of the same length. */
function maskStrings(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|`[^`]*`|["`].*$/gs, (whole) =>
    /^(["`]).*\1$/s.test(whole) ? `"${' '.repeat(whole.length - 2)}"` : ' '.repeat(whole.length),
  )
}

/** The parser's error for an action without a better finding. */
export function reportSyntax({ start, end, message, hint }: TemplateError, report: TemplateReporter) {
  report({ code: 'template-syntax', at: { start, end }, message, hint: hint && capital(hint) })
}

/** Keywords that stand alone, and those with operands. */
const ALONE = ['end', 'else', 'break', 'continue']
const LEADING = ['if', 'else', 'range', 'with', 'define', 'template', 'block']
const KEYWORDS = [...new Set([...ALONE, ...LEADING])]
const WORDS = new Set([...functionNames, ...KEYWORDS, 'true', 'false', 'nil'])

/**
 * The keyword probably meant by the first word of an action.
 * @param action with its braces
 */
export function nearestKeyword(word: string, action: string): string | undefined {
  if (word.length < 2 || !new RegExp(`^\\{\\{-?\\s*${word}(?![\\w.])`).test(action)) return undefined
  const alone = new RegExp(`^\\{\\{-?\\s*${word}\\s*-?\\}\\}`).test(action)
  return nearest(word, alone ? ALONE : LEADING)
}

/** Replacements for words of other languages; `_` is the value of the action. */
const FOREIGN: Record<string, string> = {
  null: 'nil',
  None: 'nil',
  undefined: 'nil',
  True: 'true',
  False: 'false',
  for: '{{range _}}…{{end}}',
  foreach: '{{range _}}…{{end}}',
  each: '{{range _}}…{{end}}',
  unless: '{{if not _}}',
  elif: '{{else if _}}',
  elseif: '{{else if _}}',
  elsif: '{{else if _}}',
  endif: '{{end}}',
  endfor: '{{end}}',
}

/** Functions of other languages, in lower case, by the name that they have here. */
const SAME: Readonly<Record<string, string>> = {
  __proto__: null as never,
  uppercase: 'upper',
  toupper: 'upper',
  touppercase: 'upper',
  upcase: 'upper',
  lowercase: 'lower',
  tolower: 'lower',
  tolowercase: 'lower',
  downcase: 'lower',
  capitalize: 'title',
  strip: 'trim',
  length: 'len',
  size: 'len',
  json: 'toJSON',
  jsonencode: 'toJSON',
  stringify: 'toJSON',
  urlencode: 'urlquery',
  encodeuricomponent: 'urlquery',
}

function foreign(word: string, behind: string): string | undefined {
  if (!Object.hasOwn(FOREIGN, word)) return undefined
  const value = /(?<![\w.$])([.$][\w.]*)\s*-?\}\}$/.exec(behind)?.[1]
  const form = FOREIGN[word]!
  return `Write \`${form.replace('_', value ?? (form.includes('range') ? '.Args.items' : '…'))}\``
}

/**
 * Reports a bare word: a root without its dot, an argument, or a misspelt function or keyword.
 * @param keyword possible keyword at this position
 * @param behind the rest of the action
 */
function unknownWord(
  word: string,
  rest: string,
  at: Span,
  subject: Subject,
  report: TemplateReporter,
  keyword?: string,
  behind = '',
) {
  const roots = Object.keys(subject.roots)
  const root = roots.find((one) => one.toLowerCase() === word.toLowerCase()) ?? (rest && nearest(word, roots))
  const meant = root ? `.${root}` : meantBy(word, subject)
  if (meant)
    return report({
      code: 'template-root',
      at,
      message: `\`${word}\` is not a value`,
      suggestion: meant + rest,
      ...(word === root && { fix: meant }),
    })
  const message = `there is no function \`${word}\``
  const hint = foreign(word, behind)
  if (hint !== undefined) return report({ code: 'template-function', at, message, hint })
  const same = SAME[word.toLowerCase().replaceAll('_', '')]
  if (same !== undefined) return report({ code: 'template-function', at, message, suggestion: same })
  const names = keyword === undefined ? functionNames : [...functionNames, ...KEYWORDS]
  const { suggestion, fix } = suggest(word, names)
  const sure = keyword === undefined || fix?.now === keyword ? fix?.now : undefined
  report({
    code: 'template-function',
    at,
    message,
    ...((keyword ?? suggestion) === undefined
      ? { hint: 'A field begins with a dot, a string is in double quotes' }
      : { suggestion: keyword ?? suggestion! }),
    fix: sure,
  })
}
