import { type DestinationStream, type Logger, pino } from 'pino'
import { printableJson } from '../text/index.ts'
import { LineWriter } from './line-writer.ts'
import { prettyForm } from './pretty.ts'

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
