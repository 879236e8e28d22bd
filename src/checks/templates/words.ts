import { functionNames, type Span } from '../../template/index.ts'
import { nearest, oneEditAway } from '../../text/index.ts'
import type { Subject } from '../subjects.ts'
import { KEYWORDS } from './keywords.ts'
import { meantBy, type Report } from './names.ts'

const FOREIGN: Record<string, string> = {
  null: 'Write `nil`',
  None: 'Write `nil`',
  undefined: 'Write `nil`',
  True: 'Write `true`',
  False: 'Write `false`',
  for: 'Write `{{range .Args.items}}…{{end}}`',
  foreach: 'Write `{{range .Args.items}}…{{end}}`',
  each: 'Write `{{range .Args.items}}…{{end}}`',
  unless: 'Write `{{if not …}}`',
  elif: 'Write `{{else if …}}`',
  elseif: 'Write `{{else if …}}`',
  elsif: 'Write `{{else if …}}`',
  endif: 'Write `{{end}}`',
  endfor: 'Write `{{end}}`',
}

/** With the value of the action, where there is one. */
function foreign(word: string, behind: string): string | undefined {
  const hint = FOREIGN[word]
  const value = /(?<![\w.$])([.$][\w.]*)\s*-?\}\}$/.exec(behind)?.[1]
  return value
    ? hint?.replace(/\.Args\.items\}\}…\{\{end\}\}|…(?=\}\})/, (part) =>
        part === '…' ? value : `${value}}}…{{end}}`,
      )
    : hint
}

/**
 * A bare word that is no function: a root without its dot, an argument, or a misspelt function or keyword.
 * @param keyword the keyword that it may be, where one may stand
 * @param behind the rest of the action
 */
export function unknownWord(
  word: string,
  rest: string,
  span: Span,
  subject: Subject,
  report: Report,
  keyword?: string,
  behind = '',
): void {
  const roots = Object.keys(subject.roots)
  const root = roots.find((one) => one.toLowerCase() === word.toLowerCase()) ?? (rest && nearest(word, roots))
  if (root) {
    const fix = word === root ? `.${root}` : undefined
    report(
      'template-root',
      span,
      `\`${word}\` is not a value`,
      `Did you mean \`.${root}${rest}\`?`,
      fix ? { fix } : {},
    )
    return
  }
  const meant = meantBy(word, subject)
  if (meant) {
    report('template-root', span, `\`${word}\` is not a value`, `Did you mean \`${meant}${rest}\`?`)
    return
  }
  if (keyword !== undefined && !FOREIGN[word]) {
    const sure = oneEditAway(word, [...functionNames, ...KEYWORDS]) === keyword
    report('template-function', span, `there is no function \`${word}\``, `Did you mean \`${keyword}\`?`, {
      ...(sure && { fix: keyword }),
    })
    return
  }
  const close = nearest(word, functionNames)
  const hint =
    foreign(word, behind) ??
    (close ? `Did you mean \`${close}\`?` : 'A field begins with a dot, a text stands in double quotes')
  const fix = FOREIGN[word] ? undefined : oneEditAway(word, functionNames)
  report('template-function', span, `there is no function \`${word}\``, hint, fix ? { fix } : {})
}
