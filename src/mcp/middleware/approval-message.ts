import { isObject, type Json, masked, stringify } from '../../json/index.ts'
import { isSecretName, shorten, wellFormed, withoutHidden } from '../../text/index.ts'

/** The call that a person is asked to approve. */
export interface Question {
  /** Name of the router. */
  server: string
  tool: string
  title: string | undefined
  /** Arguments of the call. */
  given: Json | undefined
}

/** At most so many arguments are shown, with so many characters of each value and of each name. */
const MAX_ARGUMENTS = 40
const MAX_VALUE = 400
/** Characters shown from the end of a long value. */
const END = 100
const MAX_NAME = 100

const INTRODUCTION =
  'An AI model wants to call a tool that may change or delete something. Approve this call?\n\n' +
  'What is indented below was written by the model and the server.'

/**
 * The question as plain text that is also valid Markdown. Foreign text is JSON on indented lines, so it cannot end its
 * line, quotation or block, and is not read as markup.
 */
export function approvalMessage({ server, tool, title, given }: Question): string {
  const values = isObject(given) ? Object.entries(masked(given) as object) : []
  const lines = [
    `server: ${shown(shorten(server, MAX_NAME))}`,
    `tool: ${shown(shorten(tool, MAX_NAME))}`,
    ...(title === undefined ? [] : [`title: ${shown(shorten(title, MAX_NAME))}`]),
    ...values
      .slice(0, MAX_ARGUMENTS)
      .map(([name, value]) => `argument ${shown(shorten(name, MAX_NAME))}: ${argumentText(name, value)}`),
  ]
  const left = values.length - MAX_ARGUMENTS
  const rest = left > 0 ? `\n\n${left} more arguments are not shown.` : ''
  const none = values.length === 0 ? '\n\nThe call has no arguments.' : ''
  return `${INTRODUCTION}\n\n${lines.map((line) => `    ${line}`).join('\n')}${rest}${none}`
}

/** Text of one argument: secrets are replaced by a note, long values show both ends. */
function argumentText(name: string, value: Json): string {
  if (isSecretName(name)) return '(a value that is not shown, as its name is that of a secret)'
  const text = shown(value)
  if (text.length <= MAX_VALUE) return text
  const [start, end] = [text.slice(0, MAX_VALUE - END), text.slice(-END)]
  return `${wellFormed(start)} … (${text.length} characters in all) … ${wellFormed(end)}`
}

/** JSON on one line, without hidden characters or HTML and Markdown delimiters. */
function shown(value: Json): string {
  return withoutHidden(stringify(value)).replace(
    /[<>&`]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
