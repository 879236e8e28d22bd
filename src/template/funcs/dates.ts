import { execFault } from '../errors.ts'
import {
  formatSeconds,
  formatTime,
  GoTime,
  knownZone,
  localZone,
  parseDuration,
  parseTime,
  ZERO_TIME,
} from '../fmt/time.ts'
import type { Host } from '../types.ts'
import { isNumber } from '../values.ts'
import { define, type FunctionEntry } from './define.ts'

export const dates: readonly FunctionEntry[] = [
  define('now', 'The current time', () => new GoTime(Date.now(), localZone())),
  define('date layout time:any', 'Formatted by a layout such as 2006-01-02', ([layout, time], host) =>
    format(layout, time, 'Local', host),
  ),
  define(
    'dateInZone|date_in_zone layout time:any zone',
    'The same in a time zone',
    ([layout, time, zone], host) => format(layout, time, zone, host),
  ),
  define('htmlDate time:any', 'The date as 2006-01-02', ([time], host) =>
    format('2006-01-02', time, 'Local', host),
  ),
  define('htmlDateInZone time:any zone', 'The same in a time zone', ([time, zone], host) =>
    format('2006-01-02', time, zone, host),
  ),
  define(
    'dateModify|date_modify duration time:any',
    'Later by a duration such as -1h30m; unchanged for a string that is not a duration',
    ([duration, time], host) => later(momentOf(time, host), parseDuration(duration) ?? 0),
  ),
  define(
    'mustDateModify|must_date_modify duration time:any',
    'The same; an error for a string that is not a duration',
    ([duration, time], host) => {
      const moment = momentOf(time, host)
      const ms = parseDuration(duration)
      if (ms === undefined) throw execFault('invalid duration')
      return later(moment, ms)
    },
  ),
  define(
    'toDate layout text',
    'The time that a string of this layout names',
    ([layout, text]) => parseTime(text, layout, localZone()) ?? ZERO_TIME,
  ),
  define('mustToDate layout text', 'The same; an error for a string of another layout', ([layout, text]) => {
    const time = parseTime(text, layout, localZone())
    if (!time) throw execFault('the string is not a time of this layout')
    return time
  }),
  define('unixEpoch time:any', 'Seconds since 1970', ([time], host) =>
    String(Math.floor(momentOf(time, host).ms / 1000)),
  ),
  define('ago time:any', 'How long ago, such as 2h30m0s', ([time], host) =>
    formatSeconds(Math.round((Date.now() - momentOf(time, host).ms) / 1000)),
  ),
  define('duration seconds:any', 'Seconds as a duration, such as 1m35s', ([seconds], host) =>
    formatSeconds(wholeSeconds(seconds, host)),
  ),
  define('durationRound duration:any', 'A duration in its largest unit, such as 2h', ([duration], host) =>
    rounded(duration, host),
  ),
].flat()

function later({ ms, zone }: GoTime, by: number): GoTime {
  return new GoTime(ms + by, zone)
}

function format(layout: string, time: unknown, zone: string, host: Host): string {
  return formatTime(new GoTime(momentOf(time, host).ms, knownZone(zone)), layout)
}

/** A time, or seconds since 1970; Sprig uses now for other values, the dialect also reads RFC 3339. */
function momentOf(time: unknown, host: Host): GoTime {
  if (time instanceof GoTime) return time
  let ms = Date.now()
  if (isCount(time, host)) ms = Number(time) * 1000
  else if (typeof time === 'string' && !host.go) ms = time.length > 100 ? Number.NaN : Date.parse(time)
  if (!(Math.abs(ms) <= 8.64e15)) throw execFault('not a time')
  return new GoTime(ms, localZone())
}

/** Sprig reads integers only, the dialect all numbers. */
function isCount(value: unknown, host: Host): boolean {
  return host.go ? typeof value === 'bigint' : isNumber(value)
}

function wholeSeconds(seconds: unknown, host: Host): number {
  if (isCount(seconds, host)) return Math.trunc(Number(seconds))
  return typeof seconds === 'string' && /^[+-]?\d{1,15}$/.test(seconds) ? Number(seconds) : 0
}

const LARGE: [number, string][] = [
  [365 * 86_400_000, 'y'],
  [30 * 86_400_000, 'mo'],
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]

function rounded(duration: unknown, host: Host): string {
  let ms = 0
  if (duration instanceof GoTime) ms = Date.now() - duration.ms
  else if (typeof duration === 'string') ms = parseDuration(duration) ?? 0
  else if (isCount(duration, host)) ms = Number(duration) / 1e6
  const size = Math.abs(ms)
  const unit = LARGE.find(([length]) => size > length)
  return unit ? `${Math.floor(size / unit[0])}${unit[1]}` : '0s'
}
