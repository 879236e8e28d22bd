import type { Logger } from './log.ts'

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
