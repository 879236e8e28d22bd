import { createInterface } from 'node:readline'
import { isObject, type Json, type JsonObject, stringify } from '../../json/index.ts'
import { printableLines } from '../../text/index.ts'

/** Reads a line; undefined at the end of input. */
type Read = (question: string) => Promise<string | undefined>

/**
 * Answers an `elicitation/create` of a server on the terminal.
 * @param signal ends the input and cancels an open question
 * @param opens whether pages are opened in the browser
 * @returns an `ElicitResult`
 */
export async function answerQuestion(
  question: JsonObject,
  signal: AbortSignal,
  opens: boolean,
): Promise<JsonObject> {
  const params = isObject(question.params) ? question.params : {}
  const { read, close } = openTerminal()
  signal.addEventListener('abort', close)
  try {
    process.stderr.write(`${printableLines(String(params.message))}\n`)
    return params.mode === 'url' ? await visit(params, read, opens) : await fill(params, read)
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }
}

function openTerminal(): { read: Read; close(): void } {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Lines typed before the question count too.
  const lines = terminal[Symbol.asyncIterator]()
  // The terminal is raw, so Ctrl-C is a key instead of a signal.
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  return {
    async read(question) {
      terminal.setPrompt(question)
      terminal.prompt()
      const { value, done } = await lines.next()
      return done ? undefined : value
    },
    close: () => terminal.close(),
  }
}

/** URL mode: the user visits the page, and its input does not pass through here. Nothing is opened without consent. */
async function visit({ url }: JsonObject, read: Read, opens: boolean): Promise<JsonObject> {
  process.stderr.write(`Open ${printableLines(String(url))}\n`)
  const page = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  const mayOpen = opens && page !== undefined && /^https?:$/.test(page.protocol)
  const answer = await read(
    mayOpen ? `Open this page of ${page.host}? [Y/n] ` : 'Enter when done, n to decline: ',
  )
  if (answer === undefined) return { action: 'cancel' }
  if (/^n/i.test(answer.trim())) return { action: 'decline' }
  if (mayOpen) (await import('../login/login.ts')).openBrowser(page)
  return { action: 'accept' }
}

/** Form mode: asks for each property of the schema; invalid input is asked for again. */
async function fill({ requestedSchema }: JsonObject, read: Read): Promise<JsonObject> {
  const schema = isObject(requestedSchema) ? requestedSchema : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const content: JsonObject = {}
  const fields = Object.entries(isObject(schema.properties) ? schema.properties : {})
  if (fields.length === 0) {
    const answer = await read('Accept? [y/N] ')
    if (answer === undefined) return { action: 'cancel' }
    return /^y/i.test(answer.trim()) ? { action: 'accept', content } : { action: 'decline' }
  }
  process.stderr.write('(leave empty for the default or to omit it; Ctrl-D declines)\n')
  for (const [name, given] of fields) {
    const field = isObject(given) ? given : {}
    for (;;) {
      const text = await read(`${questionOf(name, field, required.has(name))}: `)
      if (text === undefined) return { action: 'decline' }
      const value = text === '' ? field.default : fieldValue(text, field)
      if (value === undefined && text === '' && !required.has(name)) break
      if (value !== undefined) {
        content[name] = value
        break
      }
      process.stderr.write(`  ${text === '' ? 'this field is required' : `give ${wanted(field)}`}\n`)
    }
  }
  return { action: 'accept', content }
}

function questionOf(name: string, field: JsonObject, required: boolean): string {
  const title = typeof field.title === 'string' ? field.title : name
  const about = typeof field.description === 'string' ? ` - ${field.description}` : ''
  const fallback = field.default === undefined ? '' : ` [${shown(field.default)}]`
  return printableLines(`${title}${required ? '*' : ''}${about} (${wanted(field)})${fallback}`)
}

function shown(value: Json): string {
  return typeof value === 'string' ? value : stringify(value)
}

function wanted(field: JsonObject): string {
  const choices = choicesOf(field)
  if (choices && field.type === 'array') return `some of ${choices.join(', ')}, with commas between`
  if (choices) return `one of ${choices.join(', ')}`
  if (field.type === 'boolean') return 'yes or no'
  const { minimum, maximum } = field
  const range = [
    minimum === undefined ? '' : `at least ${minimum}`,
    maximum === undefined ? '' : `at most ${maximum}`,
  ]
  const kind = field.type === 'integer' ? 'a whole number' : field.type === 'number' ? 'a number' : 'text'
  return [typeof field.format === 'string' ? `${kind} of the form ${field.format}` : kind, ...range]
    .filter(Boolean)
    .join(', ')
}

/** The values of an enumeration: `enum`, or titled constants in `oneOf` (of a list: `anyOf`). */
function choicesOf(field: JsonObject): string[] | undefined {
  const at = field.type === 'array' && isObject(field.items) ? field.items : field
  if (Array.isArray(at.enum)) return at.enum.map(String)
  const titled = Array.isArray(at.oneOf) ? at.oneOf : Array.isArray(at.anyOf) ? at.anyOf : undefined
  return titled?.flatMap((each) => (isObject(each) && typeof each.const === 'string' ? [each.const] : []))
}

/** The value of a text for a form field; undefined if invalid. */
function fieldValue(text: string, field: JsonObject): Json | undefined {
  const choices = choicesOf(field)
  if (field.type === 'array') {
    const items = text.split(',').map((item) => item.trim())
    const { minItems, maxItems } = field
    const many =
      items.length >= Number(minItems ?? 0) && items.length <= Number(maxItems ?? Number.POSITIVE_INFINITY)
    return many && items.every((item) => !choices || choices.includes(item)) ? items : undefined
  }
  if (choices) return choices.includes(text.trim()) ? text.trim() : undefined
  if (field.type === 'boolean')
    return /^(y|yes|true)$/i.test(text.trim())
      ? true
      : /^(n|no|false)$/i.test(text.trim())
        ? false
        : undefined
  if (field.type === 'number' || field.type === 'integer') {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    const fits =
      Number.isFinite(value) &&
      (field.type === 'number' || Number.isInteger(value)) &&
      value >= Number(field.minimum ?? value) &&
      value <= Number(field.maximum ?? value)
    return fits ? value : undefined
  }
  const { minLength, maxLength } = field
  const length = [...text].length
  return length >= Number(minLength ?? 0) && length <= Number(maxLength ?? length) ? text : undefined
}
