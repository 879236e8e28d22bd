/**
 * What an error of a database driver means. `unavailable`: there is no connection, or it does not answer in time, or
 * leads to a server that takes no changes; it is given up. `retry`: the server undid the statement so that another
 * one could go on. `taken`: a key is there already. `full`: no space left.
 */
export type Fault = 'unavailable' | 'retry' | 'taken' | 'full' | 'failed'

/** SQLSTATE codes, and their first two characters (PostgreSQL's appendix A; MySQL's server error reference). */
const STATES: Record<string, Fault> = {
  '08': 'unavailable', // connection exceptions
  28: 'unavailable', // credentials refused
  '3D': 'unavailable', // no such database
  '57P': 'unavailable', // the server is going down or coming up
  25006: 'unavailable', // read-only: the other half of a failover
  53300: 'unavailable', // too many connections
  57014: 'unavailable', // statement time-out
  '55P03': 'unavailable', // lock time-out
  70100: 'unavailable', // MySQL: the statement or its connection was killed; MariaDB: statement time-out
  40001: 'retry', // serialization failure; MySQL: deadlock
  '40P01': 'retry', // deadlock
  53100: 'full', // disk full
}

/** MySQL's error numbers where its SQLSTATE says nothing. */
const NUMBERS: Record<number, Fault> = {
  1062: 'taken', // duplicate entry
  1021: 'full', // disk full
  1114: 'full', // the table is full
  1205: 'unavailable', // lock wait time-out
  1290: 'unavailable', // started with --read-only
  1836: 'unavailable', // read-only mode
  3024: 'unavailable', // statement time-out
}

interface DriverError {
  /** pg: the SQLSTATE of an error that the server sent; of others a name, or nothing. */
  code?: string
  severity?: string
  /** mysql2: of an error that the server sent. */
  sqlState?: string
  errno?: number
}

export function faultOf(error: unknown): Fault {
  const { code, severity, sqlState, errno } = error as DriverError
  const state = severity === undefined ? sqlState : code
  // Not the server's word, so it is of the connection (refused, reset, timed out, closed) unless it is our own fault.
  if (state === undefined)
    return error instanceof SyntaxError || error instanceof TypeError ? 'failed' : 'unavailable'
  const known = [state, state.slice(0, 3), state.slice(0, 2)].find((key) => Object.hasOwn(STATES, key))
  return NUMBERS[errno ?? 0] ?? (known === undefined ? 'failed' : (STATES[known] as Fault))
}
