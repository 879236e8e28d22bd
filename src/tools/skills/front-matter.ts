import { type Document, isMap, isNode, parseDocument, visit } from 'yaml'
import { type Finding, type FindingCode, finding, type Range } from '../../findings/index.ts'
import { positionsOf, quote } from '../../text/index.ts'

/** The beginning of a SKILL.md, and the rest of it. */
interface FrontMatter {
  name: string
  description: string
  values: Readonly<Record<string, unknown>>
  instructions: string
}

/** Editors of Windows put a byte order mark before it. */
const BEGIN = /^\uFEFF?---\r?\n/
const END = /^---\r?$/m
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const FORM = 'Begin the file with `---`, `name:`, `description:` and `---`, each on a line of its own'

/**
 * Reads and checks the front matter of a SKILL.md (agentskills.io/specification). Never throws.
 * @param folder name of the folder that holds it
 * @returns undefined if it has errors, which are added to `findings`
 */
export function readFrontMatter(
  { file, text }: { file: string; text: string },
  folder: string,
  findings: Finding[],
): FrontMatter | undefined {
  const before = findings.length
  const position = positionsOf(text)
  const range = (start: number, end: number): Range => ({ start: position(start), end: position(end) })
  const report = (code: FindingCode, at: Range, message: string, hint: string) =>
    void findings.push(finding(code, file, message, { range: at, hint }))

  const begin = BEGIN.exec(text)?.[0].length ?? 0
  // Maximum UTF-16 units of the front matter: description and compatibility have at most 1,524.
  const head = text.slice(begin, begin + 16 * 1024)
  const close = begin > 0 ? END.exec(head) : null
  if (!close) {
    report('skill-front-matter', range(0, 1), 'the file does not begin with front matter', FORM)
    return undefined
  }
  const source = head.slice(0, close.index)
  const parsed = parse(source)
  if ('fault' in parsed) {
    const { fault, hint = FORM, start, end } = parsed
    report('skill-front-matter', range(begin + start, begin + end), fault, hint)
    return undefined
  }
  const { doc, values } = parsed
  const at = (key: string) => {
    const node = isMap(doc.contents) ? doc.contents.get(key, true) : undefined
    const place = isNode(node) ? node.range : undefined
    return place ? range(begin + place[0], begin + Math.max(place[1], place[0] + 1)) : range(0, begin)
  }
  const faulty = (key: string, message: string, hint: string) =>
    report('skill-front-matter', at(key), message, hint)

  const { name, description, compatibility } = values
  if (typeof description !== 'string' || !description.trim())
    faulty('description', '`description` is missing', 'Write what the skill does, and when to use it')
  else if (description.length > 1024)
    faulty('description', `\`description\` has more than 1024 characters`, 'Shorten it')
  if (compatibility !== undefined && !isText(compatibility, 500))
    faulty('compatibility', `\`compatibility\` is not text of 1 to 500 characters`, 'Shorten it')
  if (typeof name !== 'string' || name === '')
    faulty('name', '`name` is missing', `Write \`name: ${folder}\`, as the folder is named`)
  else if (name.length > 64 || !NAME.test(name)) {
    const hint = `Write 1 to 64 of \`a-z\`, \`0-9\` and single hyphens between them`
    report('skill-name', at('name'), `${quote(name)} is not a name of a skill`, hint)
  } else if (name !== folder) {
    const message = `the skill ${quote(name)} is in a folder of another name, ${quote(folder)}`
    report('skill-name', at('name'), message, 'Give both the same name')
  }
  if (findings.length > before) return undefined
  const instructions = text.slice(begin + close.index + close[0].length).trim()
  return { name: name as string, description: description as string, values, instructions }
}

function isText(value: unknown, most: number): boolean {
  return typeof value === 'string' && value !== '' && value.length <= most
}

type ParsedYaml =
  | { doc: Document.Parsed; values: Record<string, unknown> }
  | { fault: string; hint?: string; start: number; end: number }

const TOO_DEEP = { fault: 'the front matter is nested too deeply', hint: 'Remove levels' }

function parse(source: string): ParsedYaml {
  const whole = { start: 0, end: source.length }
  try {
    const options = {
      schema: 'core',
      resolveKnownTags: false,
      prettyErrors: false,
      logLevel: 'silent',
    } as const
    const doc = parseDocument(source, options)
    const [error] = doc.errors
    if (error) {
      const [start, end] = error.pos
      if (error.code === 'RESOURCE_EXHAUSTION') return { ...TOO_DEEP, start, end }
      return { fault: `the front matter is not valid YAML: ${error.message.split('\n')[0]}`, start, end }
    }
    if (!isMap(doc.contents)) return { fault: 'the front matter is not a YAML map', ...whole }
    const alias = aliasIn(doc)
    if (alias) {
      const [start, end] = alias
      const hint = 'Write the value itself in place of the alias'
      return { fault: 'the front matter has a YAML alias', hint, start, end }
    }
    const values = doc.toJS() as Record<string, unknown>
    if (isJson(values)) return { doc, values }
    const hint = 'Remove `.inf` and `.nan`, or put them in quotation marks'
    return { fault: 'the front matter has a number that JSON does not have', hint, ...whole }
  } catch {
    return { ...TOO_DEEP, ...whole }
  }
}

/** Place of the first alias. Aliases are refused: they can expand without bound, and front matter needs none. */
function aliasIn(doc: Document.Parsed): [start: number, end: number] | undefined {
  let found: [number, number] | undefined
  visit(doc, {
    Alias(_, { range }) {
      found = range ? [range[0], range[1]] : [0, 1]
      return visit.BREAK
    },
  })
  return found
}

/** Infinity and NaN are not; other values of the core schema are. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isJson)
}
