import { Chalk, type ChalkInstance } from 'chalk'
import { counted, lineStarts, printable, printableJson } from '../text/index.ts'
import { CODES, checkOf, type FindingCode } from './codes.ts'
import { countFindings, type Finding, type Range } from './finding.ts'
import { frameOf, type Lines } from './frame.ts'

const STYLES = ['bold', 'dim', 'red', 'green', 'yellow', 'blue', 'cyan'] as const

type Paint = (text: string) => string
type Palette = Readonly<Record<(typeof STYLES)[number], Paint>>

/** The caller decides whether the output is a terminal. */
const COLOURED: ChalkInstance = new Chalk({ level: 1 })
const PLAIN = Object.fromEntries(STYLES.map((name) => [name, (text: string) => text])) as Palette

/** Functions that colour text for a terminal, or return it unchanged. */
export function palette(color: boolean): Palette {
  return color ? COLOURED : PLAIN
}

interface FormatTextOptions {
  color: boolean
  /** Columns of the terminal. Default 100. */
  width?: number
}

interface Style {
  paint: Palette
  width: number
  /** The lines of a file, split when its first finding is printed. */
  lines: (file: string) => Lines | undefined
}

/**
 * Findings for people: each with its place, a frame of the source, the hint and related places, then a summary.
 * They are printed in the order given. Ends with a line feed; without findings it is `no findings`.
 * @param sources the text of each file, by the path that the findings give; a file without one gets no frames
 */
export function formatText(
  findings: readonly Finding[],
  sources: ReadonlyMap<string, string>,
  { color, width = 100 }: FormatTextOptions,
): string {
  const known = new Map<string, Lines>()
  const lines = (file: string) => {
    const text = sources.get(file)
    if (!text) return undefined
    const split = known.get(file) ?? { text, starts: lineStarts(text) }
    known.set(file, split)
    return split
  }
  // A frame needs 40 columns to be readable.
  const style: Style = { paint: palette(color), width: Math.max(40, width), lines }
  return `${findings.map((one) => `${formatOne(one, style)}\n`).join('')}${summary(findings, style.paint)}\n`
}

function formatOne(one: Finding, style: Style): string {
  const { bold, dim, red, yellow, blue, cyan } = style.paint
  const paint = { error: red, warning: yellow, info: blue }[one.severity]
  const head = `${bold(`${place(one)}:`)} ${paint(bold(`${one.severity}:`))} ${printable(one.message)} ${dim(`[${one.code}]`)}`
  const parts = [head, ...frameLines(one, style, paint)]
  if (one.hint !== undefined) parts.push(`  ${cyan('hint:')} ${printable(one.hint)}`)
  for (const other of one.related ?? []) {
    parts.push(`  ${place(other)}: ${printable(other.message)}`, ...frameLines(other, style, blue))
  }
  return `${parts.join('\n')}\n`
}

function place({ file, range }: { file: string; range?: Range }): string {
  const name = file === '-' ? '<stdin>' : printable(file)
  return range ? `${name}:${range.start.line}:${range.start.column}` : name
}

function frameLines({ file, range }: { file: string; range?: Range }, style: Style, paint: Paint): string[] {
  const lines = range && style.lines(file)
  if (!lines) return []
  const digits = String(range.start.line).length
  // Two spaces, the number, ` | `.
  const shown = frameOf(lines, range, style.width - digits - 5)
  if (!shown) return []
  const bar = style.paint.dim(' | ')
  return [
    ...shown.lines.map(({ number, text }) =>
      `  ${style.paint.dim(String(number).padStart(digits))}${bar}${text}`.trimEnd(),
    ),
    `  ${' '.repeat(digits)}${bar}${paint(shown.marks)}`,
  ]
}

/** `2 errors, 1 warning in 3 files`. */
function summary(findings: readonly Finding[], { red, yellow, blue, green }: Palette): string {
  const { error, warning, info, files } = countFindings(findings)
  if (findings.length === 0) return green('no findings')
  const amounts = [
    [error, 'error'],
    [warning, 'warning'],
    [info, 'note'],
  ] as const
  const counts = amounts.filter(([amount]) => amount > 0).map(([amount, noun]) => counted(amount, noun))
  const paint = error ? red : warning ? yellow : blue
  return paint(`${counts.join(', ')} in ${counted(files, 'file')}`)
}

/**
 * Findings for programs: `{findings, summary: {errors, warnings, infos, files}}` as indented JSON.
 * @param checked files that were checked, which `files` counts too
 */
export function formatJson(findings: readonly Finding[], checked: Iterable<string> = []): string {
  const { error, warning, info } = countFindings(findings)
  const files = new Set([...checked, ...findings.map(({ file }) => file)]).size
  const report = { findings, summary: { errors: error, warnings: warning, infos: info, files } }
  return `${printableJson(JSON.stringify(report, null, 2))}\n`
}

/**
 * Explains a finding for a terminal, with the catalogue's text, which `docs/findings.md` has too.
 * Ends with a line feed.
 */
export function explain(code: FindingCode, { color }: { color: boolean }): string {
  const { bold, cyan, red, green } = palette(color)
  const { severity, title, cause, fix, wrong, right } = CODES[code]
  const head = `${bold(code)} (${severity}, of the check ${checkOf(code)})`
  const parts = [
    ...[`${head}\n${title}`, cause, `${cyan('Fix:')} ${fix}`],
    ...[`${red('Wrong:')}\n\n${indented(wrong)}`, `${green('Right:')}\n\n${indented(right)}`],
  ]
  return `${parts.join('\n\n')}\n`
}

/** Every code with its severity and title, a line each, in the order of the catalogue. */
export function listCodes(): string {
  const codes = Object.keys(CODES) as FindingCode[]
  const width = Math.max(...codes.map((code) => code.length))
  return codes
    .map((code) => `${code.padEnd(width)}  ${CODES[code].severity.padEnd(7)}  ${CODES[code].title}\n`)
    .join('')
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${line}`.trimEnd())
    .join('\n')
}
