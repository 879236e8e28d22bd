/** What the process takes of its clients; of all of them together unless said otherwise. */
export interface ServerLimits {
  /** Default 10,000. */
  maxConnections: number
  /** Default 5,000. */
  maxConnectionsPerAddress: number
  /** Default 100,000. */
  maxSessions: number
  /** Default 50,000. */
  maxSessionsPerPrefix: number
  /** Default 10,000. */
  maxSessionsPerCaller: number
  /** Calls under way. Default 4,000. */
  maxCallsPerPrefix: number
  /** Calls under way. Default 1,000. */
  maxCallsPerCaller: number
  /** Bytes of messages that wait in one queue. Default 16 MiB. */
  maxQueued: number
  /** Bytes that are held in all. Absent: a quarter of the heap, 1 GiB at the most. */
  maxBuffered?: number
  /** Milliseconds for the headers of a request. Default 10,000. */
  headersTimeout: number
  /** Milliseconds for a whole request. Default 60,000. */
  requestTimeout: number
  /** Milliseconds that a client may take nothing of what it is sent. Default 30,000. */
  writeTimeout: number
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  maxConnections: 10_000,
  maxConnectionsPerAddress: 5_000,
  maxSessions: 100_000,
  maxSessionsPerPrefix: 50_000,
  maxSessionsPerCaller: 10_000,
  maxCallsPerPrefix: 4_000,
  maxCallsPerCaller: 1_000,
  maxQueued: 16 * 1024 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  writeTimeout: 30_000,
}
