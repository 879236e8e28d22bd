import { type DestinationStream, type Logger, pino } from 'pino'
import { printableJson } from '../text/index.ts'
import { LineWriter } from './line-writer.ts'

export type { Logger } from 'pino'

export interface LogOptions {
  /** Takes the lines as JSON, in place of `format` and `to`. */
  stream?: DestinationStream
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Default: pretty on a terminal, else JSON. */
  format?: 'json' | 'pretty'
  /** Default: standard error, as standard output belongs to what a command prints. */
  to?: DestinationStream
}

/**
 * The process's log. At `info` a line for each call: prefix, tool, upstream status, milliseconds, request id;
 * never arguments, headers or bodies.
 */
export async function createLog({ level, stream, ...how }: LogOptions): Promise<Logger> {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // Clients choose names that are logged.
    hooks: { streamWrite: printableJson },
  }
  return pino(options, stream ?? logStream(how))
}

/** Where lines of JSON go, each as people or programs want to read it. */
export function logStream({
  format = process.stderr.isTTY ? 'pretty' : 'json',
  to,
}: Omit<LogOptions, 'level'>): DestinationStream {
  if (format === 'json') return to ?? standardError()
  const form = prettyForm(hasColor())
  if (to) return { write: (record) => to.write(form(record)) }
  const lines = standardError()
  return { write: (record) => lines.write(record, form) }
}

function hasColor(): boolean {
  const { NO_COLOR, FORCE_COLOR } = process.env
  return !NO_COLOR && (FORCE_COLOR === undefined ? process.stderr.isTTY === true : FORCE_COLOR !== '0')
}

let writer: LineWriter | undefined

/** One for all logs of the process. */
function standardError(): LineWriter {
  // Node makes a pipe non-blocking as soon as `process.stderr` is used.
  writer ??= new LineWriter(process.stderr.fd)
  return writer
}

const nothing = () => {}

/** A log for what is only looked at: it says nothing, and loads nothing. */
export const silentLog = {
  level: 'silent',
  ...Object.fromEntries(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => [level, nothing]),
  ),
  isLevelEnabled: () => false,
  child: () => silentLog,
} as unknown as Logger

/** ANSI colours of the levels: foreground, except for `fatal`. */
const LEVELS: Record<string, number> = { trace: 90, debug: 34, info: 32, warn: 33, error: 31, fatal: 41 }
const CYAN = 36
const MAGENTA = 35

const GRAY = 90

/**
 * Makes text for people of JSON records: time of day, level, message and plain fields on one line, other fields below it.
 * Ours rather than `pino-pretty`, whose 13 packages do the same here.
 */
export function prettyForm(color: boolean): (record: string) => string {
  const paint = (code: number, text: string) =>
    color ? `\x1b[${code}m${text}\x1b[${code < 40 || code >= 90 ? 39 : 49}m` : text
  return (record) => {
    const { time, level, msg, ...fields } = JSON.parse(record) as Record<string, unknown>
    const label = paint(LEVELS[String(level)] ?? 39, String(level).toUpperCase())
    const line = [`[${timeOfDay(String(time))}] ${label}:`]
    const below: string[] = []
    if (msg !== undefined) line.push(paint(CYAN, String(msg)))
    for (const [name, value] of Object.entries(fields)) {
      const plain = plainText(value)
      if (plain !== undefined) line.push(`${paint(GRAY, `${name}=`)}${plain}`)
      else below.push(`    ${paint(MAGENTA, name)}: ${valueText(value).replaceAll('\n', '\n    ')}`)
    }
    return printableJson(`${[line.join(' '), ...below].join('\n')}\n`)
  }
}

/** A scalar, or a list of them, as it stands on the line; undefined: it needs lines of its own. */
function plainText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const items = value.map(plainText)
    return items.includes(undefined) || items.join().length > 200 ? undefined : items.join(',')
  }
  if (typeof value === 'object' && value !== null) return undefined
  if (typeof value !== 'string') return String(value)
  if (value.length > 200) return undefined
  return /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)
}

/** Indented JSON, with the lines of a stack each on its own. */
function valueText(value: unknown): string {
  const { stack, ...error } = (value ?? {}) as { stack?: unknown }
  if (typeof stack !== 'string') return JSON.stringify(value, null, 2)
  const lines = stack.replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, '').replaceAll('\n', '\n      ')
  return `${JSON.stringify(error, null, 2).slice(0, -2)},\n  "stack":\n      ${lines}\n}`
}

/** `HH:MM:ss.l` of this machine's time zone. */
function timeOfDay(time: string): string {
  const at = new Date(time)
  return `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, '0')}`
}
