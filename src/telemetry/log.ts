import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { prettyStream } from './pretty.ts'

export type { Logger } from 'pino'

export interface LogOptions {
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
export async function createLog({
  level,
  format = process.stderr.isTTY ? 'pretty' : 'json',
  to,
}: LogOptions): Promise<Logger> {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  if (format === 'json') return pino(options, to ?? destination({ dest: 2, sync: false }))
  const { NO_COLOR, FORCE_COLOR } = process.env
  const color = !NO_COLOR && (FORCE_COLOR === undefined ? process.stderr.isTTY === true : FORCE_COLOR !== '0')
  return pino(options, prettyStream(to ?? destination({ dest: 2, sync: true }), color))
}
