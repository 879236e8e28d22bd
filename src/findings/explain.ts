import { CODES, checkOf, codeInfo, type FindingCode } from './codes.ts'
import { palette } from './format.ts'

/**
 * Explains a finding for a terminal, with the catalogue's text, which `docs/findings.md` has too.
 * Ends with a line feed.
 */
export function explain(code: FindingCode, { color }: { color: boolean }): string {
  const { bold, cyan, red, green } = palette(color)
  const { severity, title, cause, fix, wrong, right } = codeInfo(code)
  const head = `${bold(code)} (${severity}, of the check ${checkOf(code)})`
  const parts = [`${head}\n${title}`, cause, `${cyan('Fix:')} ${fix}`]
  if (wrong !== undefined) parts.push(`${red('Wrong:')}\n\n${indented(wrong)}`)
  if (right !== undefined) parts.push(`${green('Right:')}\n\n${indented(right)}`)
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
