const NAME = '(?:export[ \\t]+)?([^\\s=#\'"`]+)[ \\t]*='
const QUOTED = '[ \\t]*(?:\'([^\']*)\'|"([^"]*)"|`([^`]*)`)[ \\t]*(?:#[^\\n]*)?'
const PLAIN = '(?![ \\t]*[\'"`])([^\\n]*)'
/** Blank lines, then a comment or an assignment. */
const LINE = `\\s*(?:#[^\\n]*|${NAME}(?:${QUOTED}|${PLAIN}))?(?:\\n|$)`

/**
 * The variables of a file of lines `NAME=value`. As in Docker Compose, `#` begins a comment only after white space, and
 * a value in quotes can have several lines; nothing in values is replaced but `\n` in double quotes.
 * @throws Error with the place of a line that is neither
 */
export function readEnvText(text: string, file: string): Map<string, string> {
  const found = new Map<string, string>()
  const lines = text.replaceAll('\r\n', '\n')
  const line = new RegExp(LINE, 'y')
  for (let at = 0; at < lines.length; at = line.lastIndex) {
    const match = line.exec(lines)
    if (!match) throw new Error(faultOf(lines, at, file))
    const [, name, single, double, back, plain = ''] = match
    const value = single ?? double?.replaceAll('\\n', '\n') ?? back ?? plain.replace(/[ \t]#.*/s, '').trim()
    if (name !== undefined) found.set(name, value)
  }
  return found
}

/** Shows nothing of the line, which may be a secret. */
function faultOf(lines: string, from: number, file: string): string {
  const rest = lines.slice(from).trimStart()
  const number = lines.slice(0, lines.length - rest.length).split('\n').length
  const fault = /^[^=\n]+=\s*['"`]/.test(rest)
    ? 'a quote is not closed, or text follows it: put the value in quotes that it does not contain'
    : 'this is no assignment: write `NAME=value`, `#` before a comment, and quotes around a value of several lines'
  return `${file}:${number}: ${fault}`
}
