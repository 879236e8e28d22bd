import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from '../support/process.ts'

export interface Literal {
  place: string
  regex: RegExp
}

/** Every regular expression literal of `src`, and every `new RegExp` of literal text. */
export function literals(): Literal[] {
  const found: Literal[] = []
  const folder = join(ROOT, 'src')
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    if (!name.endsWith('.ts')) continue
    const file = ts.createSourceFile(
      name,
      readFileSync(join(folder, name), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    )
    const visit = (node: ts.Node): void => {
      const place = () => `src/${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
      if (ts.isRegularExpressionLiteral(node)) {
        const end = node.text.lastIndexOf('/')
        found.push({ place: place(), regex: new RegExp(node.text.slice(1, end), node.text.slice(end + 1)) })
      } else if (ts.isNewExpression(node) && node.expression.getText() === 'RegExp') {
        const [source, flags] = node.arguments ?? []
        const text = source && textOf(source)
        if (text !== undefined) {
          const made = attempt(text, flags && ts.isStringLiteral(flags) ? flags.text : '')
          if (made) found.push({ place: place(), regex: made })
        }
      }
      ts.forEachChild(node, visit)
    }
    visit(file)
  }
  return found
}

/** The text of a literal; what is put into a template is taken for a word. */
function textOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTaggedTemplateExpression(node)) return rawOf(node.template)
  return ts.isTemplateExpression(node) ? rawOf(node) : undefined
}

function rawOf(node: ts.TemplateLiteral): string {
  if (!ts.isTemplateExpression(node)) return node.text
  return node.head.text + node.templateSpans.map((span) => `word${span.literal.text}`).join('')
}

function attempt(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags)
  } catch {
    return undefined
  }
}

/** Texts of one or two characters that parts of an expression match, in the order in which those stand. */
export function samples({ source, flags }: RegExp): string[] {
  const found: string[] = []
  for (const [part] of source.matchAll(
    /\[(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|.)|[^\\[\](){}|*+?^$]/gsu,
  )) {
    const one = attempt(`^(?:${part})$`, flags.replace(/[gy]/g, ''))
    if (!one) continue
    const matching = CHARACTERS.filter((char) => one.test(char))
    // The first that others match as well, and one that stands for the rest.
    found.push(...matching.slice(0, 1), ...matching.slice(-1))
  }
  return [...new Set(found)]
}

const CHARACTERS = [...'a1 .-_/\t:,;="\'`{}[]()<>|&%#@!$*+?~^\\\n\rAFTZ09e', 'é', '\u2028', '\u{1f600}', '\0']

/** Texts whose repetition may take a matcher long: samples, neighbours among them, and runs of the literal text. */
export function pumps(regex: RegExp): string[] {
  const one = samples(regex).slice(0, 14)
  const made = new Set(one)
  one.forEach((first, at) => {
    for (const second of one.slice(at + 1, at + 5)) {
      made.add(first + second)
      made.add(second + first)
    }
  })
  for (const [word] of regex.source.matchAll(/[\w "<>:/-]{2,}/g)) made.add(word)
  if (one.length > 2) made.add(one.join(''))
  return [...made]
}

/** What may stand before a pump, so that the part that it is for is reached. */
export function prefixes(regex: RegExp): string[] {
  const all = samples(regex)
  const words = [...regex.source.matchAll(/(?:\\[^\w\s]|[\w "<>:/{}=,-]){2,}/g)].map(([word]) =>
    word.replaceAll('\\', ''),
  )
  return [...new Set(['', all[0] ?? '', all.slice(0, 2).join(''), ...words.slice(0, 2)])]
}

export const SUFFIXES = ['', '\0', '!\n', 'a']
