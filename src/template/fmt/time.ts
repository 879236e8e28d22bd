/** A moment in a zone: Go's time.Time. */
export class GoTime {
  constructor(
    /** Milliseconds since 1970 UTC. */
    readonly ms: number,
    /** IANA name, or `UTC`. */
    readonly zone: string,
  ) {}

  toString(): string {
    return formatTime(this, '2006-01-02 15:04:05.999999999 -0700 MST')
  }
  /** RFC 3339, as in Go's JSON. */
  toJSON(): string {
    return formatTime(this, '2006-01-02T15:04:05.999999999Z07:00')
  }
}

/** Go's zero time. */
export const ZERO_TIME = new GoTime(Date.UTC(2001, 0, 1) - 63_113_904_000_000, 'UTC')

/** Zone names by the names used in templates, as lookups are slow. `TZ` may change in a process. */
const zones = new Map<string, string>()

function zoneOf(key: string, timeZone: string | undefined): string {
  let zone = zones.get(key)
  if (zone === undefined) {
    try {
      zone = Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions().timeZone
    } catch {
      zone = 'UTC'
    }
    if (zones.size >= 1000) zones.clear()
    zones.set(key, zone)
  }
  return zone
}

export function localZone(): string {
  return zoneOf(`TZ=${process.env.TZ}`, undefined)
}

/** The zone if known, else UTC. */
export function knownZone(name: string): string {
  if (name === '' || name === 'UTC' || name.length > 100) return 'UTC'
  return name === 'Local' ? localZone() : zoneOf(name, name)
}

const formats = new Map<string, Intl.DateTimeFormat>()

function zonePart(ms: number, zone: string, style: 'longOffset' | 'short'): string {
  const key = `${zone} ${style}`
  let format = formats.get(key)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: style })
    formats.set(key, format)
  }
  return format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT'
}

/** Minutes east of UTC. */
function zoneOffset(ms: number, zone: string): number {
  return zone === 'UTC' ? 0 : minutesOf(zonePart(ms, zone, 'longOffset'))
}

/** Minutes of an offset such as `+05:30`; 0 without one. */
function minutesOf(text: string): number {
  const [, sign, hours, minutes = 0] = /([+-])(\d{2}):?(\d{2})?/.exec(text) ?? []
  return hours === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
/** Elements of Go's reference time, Mon Jan 2 15:04:05 MST 2006. */
const LAYOUT_ELEMENTS =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|Z07:00|Z0700|Z07|-07:00|-0700|-07|002|01|02|03|04|05|06|15|PM|pm|_2(?!006)|1|2|3|4|5|[.,](?:0+|9+)(?!\d)/g

const twoDigits = (value: number) => String(value).padStart(2, '0')
const short = (name: string) => name.slice(0, 3)
const hour12 = (at: Date) => at.getUTCHours() % 12 || 12
const isMorning = (at: Date) => at.getUTCHours() < 12

const dayOfYear = (at: Date) => Math.floor((at.getTime() - Date.UTC(at.getUTCFullYear())) / 86_400_000) + 1
const ZONE = '(?<zone>Z|[+-]\\d{2}:?(?:\\d{2})?)'

/**
 * For each element: a writer, given a date whose UTC fields are those of the zone, and the expression that reads it.
 */
const ELEMENTS: Partial<Record<string, [write: (at: Date, zoneName: string) => string, read: string]>> = {
  January: [(at) => MONTHS[at.getUTCMonth()]!, `(?<month>${MONTHS.join('|')})`],
  Jan: [(at) => short(MONTHS[at.getUTCMonth()]!), `(?<month>${MONTHS.map(short).join('|')})`],
  '1': [(at) => String(at.getUTCMonth() + 1), '(?<mon>\\d{1,2})'],
  '01': [(at) => twoDigits(at.getUTCMonth() + 1), '(?<mon>\\d{2})'],
  Monday: [(at) => DAYS[at.getUTCDay()]!, `(?:${DAYS.join('|')})`],
  Mon: [(at) => short(DAYS[at.getUTCDay()]!), `(?:${DAYS.map(short).join('|')})`],
  '2': [(at) => String(at.getUTCDate()), '(?<day>\\d{1,2})'],
  _2: [(at) => String(at.getUTCDate()).padStart(2), ' ?(?<day>\\d{1,2})'],
  '02': [(at) => twoDigits(at.getUTCDate()), '(?<day>\\d{2})'],
  '002': [(at) => String(dayOfYear(at)).padStart(3, '0'), '(?<dayOfYear>\\d{3})'],
  '15': [(at) => twoDigits(at.getUTCHours()), '(?<hour>\\d{2})'],
  '3': [(at) => String(hour12(at)), '(?<hour>\\d{1,2})'],
  '03': [(at) => twoDigits(hour12(at)), '(?<hour>\\d{2})'],
  '4': [(at) => String(at.getUTCMinutes()), '(?<minute>\\d{1,2})'],
  '04': [(at) => twoDigits(at.getUTCMinutes()), '(?<minute>\\d{2})'],
  '5': [(at) => String(at.getUTCSeconds()), '(?<second>\\d{1,2})'],
  '05': [(at) => twoDigits(at.getUTCSeconds()), '(?<second>\\d{2}(?:[.,]\\d{1,9})?)'],
  '2006': [(at) => String(at.getUTCFullYear()).padStart(4, '0'), '(?<year>\\d{4})'],
  '06': [(at) => twoDigits(at.getUTCFullYear() % 100), '(?<year>\\d{2})'],
  PM: [(at) => (isMorning(at) ? 'AM' : 'PM'), '(?<half>AM|PM)'],
  pm: [(at) => (isMorning(at) ? 'am' : 'pm'), '(?<half>am|pm)'],
  MST: [(_, zoneName) => zoneName, '(?:[A-Z]{3,4}|UTC)'],
}

export function formatTime(time: GoTime, layout: string): string {
  const offset = zoneOffset(time.ms, time.zone)
  const at = new Date(time.ms + offset * 60_000)
  const isNamed = time.zone !== 'UTC' && layout.includes('MST')
  const zoneName = isNamed ? zonePart(time.ms, time.zone, 'short') : 'UTC'
  return layout.replace(LAYOUT_ELEMENTS, (piece) => {
    const [write] = ELEMENTS[piece] ?? []
    if (write) return write(at, zoneName)
    return /^[.,]/.test(piece) ? fraction(at.getUTCMilliseconds(), piece) : offsetText(offset, piece)
  })
}

function fraction(ms: number, piece: string): string {
  const digits = String(ms)
    .padStart(3, '0')
    .padEnd(piece.length - 1, '0')
    .slice(0, piece.length - 1)
  if (piece[1] === '0') return piece[0] + digits
  const short = digits.replace(/(?<!0)0+$/, '')
  return short === '' ? '' : piece[0] + short
}

function offsetText(offset: number, piece: string): string {
  if (piece[0] === 'Z' && offset === 0) return 'Z'
  const minutes = Math.abs(offset)
  const sign = offset < 0 ? '-' : '+'
  const hours = twoDigits(Math.floor(minutes / 60))
  if (piece.endsWith('07')) return sign + hours
  return sign + hours + (piece.includes(':') ? ':' : '') + twoDigits(minutes % 60)
}

/** Parses by a Go layout; without a zone in the text, it is in `zone`. Undefined if it does not match. */
export function parseTime(text: string, layout: string, zone: string): GoTime | undefined {
  // Maximum characters of a layout, which becomes a regular expression.
  if (layout.length > 1000) return undefined
  const pieces = [...layout.matchAll(LAYOUT_ELEMENTS)]
  // Many elements of variable length could match in too many ways.
  if (pieces.length > 16) return undefined
  const used = new Set<string>()
  let last = 0
  let pattern = ''
  for (const match of pieces) {
    pattern += escapeRegex(layout.slice(last, match.index))
    last = match.index + match[0].length
    const reader = ELEMENTS[match[0]]?.[1] ?? (/^[.,]/.test(match[0]) ? '(?:[.,]\\d{1,9})?' : ZONE)
    // A repeated element is read once.
    pattern += reader.replace(/\?<(\w+)>/, (group, name: string) => {
      if (used.has(name)) return '?:'
      used.add(name)
      return group
    })
  }
  const match = new RegExp(`^${pattern}${escapeRegex(layout.slice(last))}$`).exec(text)
  return match ? timeOf(match.groups ?? {}, zone) : undefined
}

function timeOf(groups: Record<string, string | undefined>, zone: string): GoTime | undefined {
  const {
    year = '0',
    month,
    mon,
    day = '1',
    dayOfYear,
    hour = '0',
    minute = '0',
    second = '0',
    half,
    zone: offset,
  } = groups
  const fullYear = year.length === 2 ? Number(year) + (Number(year) >= 69 ? 1900 : 2000) : Number(year)
  const named = month === undefined ? -1 : MONTHS.findIndex((name) => name.startsWith(month))
  const monthIndex = named >= 0 ? named : Number(mon ?? '1') - 1
  const isOfYear = dayOfYear !== undefined
  let hours = Number(hour)
  if (half !== undefined) hours = (hours % 12) + (/p/i.test(half) ? 12 : 0)
  const seconds = Number(second.replace(',', '.'))
  const date = new Date(0)
  date.setUTCFullYear(fullYear, isOfYear ? 0 : monthIndex, Number(dayOfYear ?? day))
  date.setUTCHours(hours, Number(minute), 0, Math.trunc(seconds * 1000))
  const isDate = isOfYear ? date.getUTCFullYear() === fullYear : date.getUTCDate() === Number(day)
  if (!isDate || hours > 23 || Number(minute) > 59 || seconds >= 60) return undefined
  if (offset === undefined)
    return new GoTime(date.getTime() - zoneOffset(date.getTime(), zone) * 60_000, zone)
  const minutes = minutesOf(offset)
  return new GoTime(date.getTime() - minutes * 60_000, minutes === 0 ? 'UTC' : zone)
}

function escapeRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

const UNITS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** Milliseconds of a duration such as `-1h30m`; undefined if invalid. */
export function parseDuration(text: string): number | undefined {
  if (!/^[+-]?(?:0|(?:(?:\d{1,15}\.?\d{0,15}|\.\d{1,15})(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(text))
    return undefined
  let total = 0
  for (const [, value, unit] of text.matchAll(/(?<![\d.])([\d.]+)([a-zµμ]+)/g))
    total += Number(value) * UNITS[unit!]!
  return text[0] === '-' ? -total : total
}

/** A duration in whole seconds, as Go prints it. */
export function formatSeconds(seconds: number): string {
  const total = Math.abs(seconds)
  const hours = Math.floor(total / 3600)
  const minutes = Math.floor((total % 3600) / 60)
  const sign = seconds < 0 ? '-' : ''
  if (hours > 0) return `${sign}${hours}h${minutes}m${total % 60}s`
  return minutes > 0 ? `${sign}${minutes}m${total % 60}s` : `${sign}${total}s`
}
