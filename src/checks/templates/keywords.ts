import { suggest } from '../../findings/index.ts'
import { functionNames, type Span } from '../../template/index.ts'
import { nearest } from '../../text/index.ts'
import type { Subject } from '../subjects.ts'
import { meantBy } from './known-names.ts'
import type { TemplateReporter } from './report.ts'

/** Keywords that stand alone in their action, and those that something follows. */
const ALONE = ['end', 'else', 'break', 'continue']
const LEADING = ['if', 'else', 'range', 'with', 'define', 'template', 'block']
export const KEYWORDS = [...new Set([...ALONE, ...LEADING])]

/**
 * The keyword that the first word of an action most likely means.
 * @param action with its braces
 */
export function nearestKeyword(word: string, action: string): string | undefined {
  if (word.length < 2 || !new RegExp(`^\\{\\{-?\\s*${word}(?![\\w.])`).test(action)) return undefined
  const alone = new RegExp(`^\\{\\{-?\\s*${word}\\s*-?\\}\\}`).test(action)
  return nearest(word, alone ? ALONE : LEADING)
}

/** What to write for words of other languages; `_` is the value of the action. */
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

function foreign(word: string, behind: string): string | undefined {
  if (!Object.hasOwn(FOREIGN, word)) return undefined
  const value = /(?<![\w.$])([.$][\w.]*)\s*-?\}\}$/.exec(behind)?.[1]
  const form = FOREIGN[word]!
  return `Write \`${form.replace('_', value ?? (form.includes('range') ? '.Args.items' : '…'))}\``
}

/**
 * A bare word that is not a function: a root without its dot, an argument, or a misspelt function or keyword.
 * @param keyword the keyword that it may be, where one may stand
 * @param behind the rest of the action
 */
export function unknownWord(
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
