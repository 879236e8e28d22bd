import { wellFormed } from '../bytes.ts'

/** Flags, width and precision of one verb. */
export interface Flags {
  minus: boolean
  plus: boolean
  sharp: boolean
  space: boolean
  zero: boolean
  /** `%+v` and `%#v`. */
  plusV: boolean
  sharpV: boolean
  width: number | undefined
  precision: number | undefined
}

export function newFlags(): Flags {
  return {
    minus: false,
    plus: false,
    sharp: false,
    space: false,
    zero: false,
    plusV: false,
    sharpV: false,
    width: undefined,
    precision: undefined,
  }
}

export function truncate(text: string, flags: Flags): string {
  if (flags.precision === undefined || text.length <= flags.precision) return text
  return Array.from(text.slice(0, flags.precision * 2))
    .slice(0, flags.precision)
    .join('')
}

/** Zeros go between the sign and the digits; Inf and NaN take none. */
export function padNumber(digits: string, negative: boolean, flags: Flags, plusInf = false): string {
  const named = /^[IN]/.test(digits)
  const shownPlus = flags.plus || (plusInf && digits === 'Inf')
  const sign = negative
    ? '-'
    : shownPlus && digits !== 'NaN'
      ? '+'
      : flags.plus
        ? '+'
        : flags.space
          ? ' '
          : ''
  if (flags.zero && !flags.minus && !named) {
    return sign + digits.padStart((flags.width ?? 0) - sign.length, '0')
  }
  return pad(sign + digits, { ...flags, zero: false })
}

/** Pads to the width, counted in code points. */
export function pad(text: string, flags: Flags): string {
  const { width } = flags
  if (width === undefined || text.length >= width * 2) return text
  const missing = width - Array.from(wellFormed(text)).length
  if (missing <= 0) return text
  if (flags.minus) return text + ' '.repeat(missing)
  return (flags.zero ? '0' : ' ').repeat(missing) + text
}
