/** How a process uses its database. Times are milliseconds. */
export interface Limits {
  /** Connections at the most. */
  connections: number
  /** To connect, or to wait until a connection is free. */
  connect: number
  /** That the server works at one statement. */
  statement: number
  /** That an answer is waited for; then the connection is given up. */
  answer: number
  /** After which a connection without work is closed. */
  idle: number
}

export const LIMITS: Limits = {
  connections: 10,
  connect: 5_000,
  statement: 10_000,
  answer: 15_000,
  idle: 30_000,
}
