/**
 * Class of a database driver's error. `unreachable`: no connection, no answer in time, or a read-only server.
 * `refused`: wrong credentials, or the database does not exist. Both abandon the connection.
 * `retry`: the server rolled the statement back because of another one. `taken`: the key exists. `full`: no space left.
 */
type SqlFault = 'unreachable' | 'refused' | 'retry' | 'taken' | 'full' | 'failed'

/** SQLSTATE codes, and their first two characters (PostgreSQL's appendix A; MySQL's server error reference). */
const STATES: Record<string, SqlFault> = {
  '08': 'unreachable', // connection exceptions
  28: 'refused', // credentials refused
  '3D': 'refused', // no such database
  '57P': 'unreachable', // the server is going down or coming up
  25006: 'unreachable', // read-only, as during a failover
  53300: 'unreachable', // too many connections
  57014: 'unreachable', // statement time-out
  '55P03': 'unreachable', // lock time-out
  70100: 'unreachable', // MySQL: the statement or its connection was killed; MariaDB: statement time-out
  40001: 'retry', // serialization failure; MySQL: deadlock
  '40P01': 'retry', // deadlock
  53100: 'full', // disk full
}

/** MySQL's error numbers whose SQLSTATE is too general. */
const NUMBERS: Record<number, SqlFault> = {
  1049: 'refused', // no such database
  1062: 'taken', // duplicate entry
  1021: 'full', // disk full
  1114: 'full', // the table is full
  1205: 'unreachable', // lock wait time-out
  1290: 'unreachable', // started with --read-only
  1836: 'unreachable', // read-only mode
  3024: 'unreachable', // statement time-out
}

interface DriverError {
  /** pg: the SQLSTATE of a server's error; a name or undefined for other errors. */
  code?: string
  severity?: string
  /** mysql2: the SQLSTATE of a server's error. */
  sqlState?: string
  errno?: number
}

export function faultOf(error: unknown): SqlFault {
  const { code, severity, sqlState, errno } = error as DriverError
  const state = severity === undefined ? sqlState : code
  // An error without SQLSTATE is a fault of the connection (refused, reset, timed out, closed), or of this program.
  if (state === undefined)
    return error instanceof SyntaxError || error instanceof TypeError ? 'failed' : 'unreachable'
  const known = [state, state.slice(0, 3), state.slice(0, 2)].find((key) => Object.hasOwn(STATES, key))
  return NUMBERS[errno ?? 0] ?? (known === undefined ? 'failed' : (STATES[known] as SqlFault))
}

/** The message of an error. An AggregateError has no message, but one error for each address of a host. */
export function messageOf(error: unknown): string {
  const { message, errors, code } = error as AggregateError & { code?: string }
  return message || (errors?.map(messageOf).join(', ') ?? code ?? String(error))
}
