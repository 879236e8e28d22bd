/** Formats doubles as Go's strconv.FormatFloat and fmt do. */

/** Go's `%v` of a float64: the shortest digits, as `%e` for exponents below -4 and above 5. */
export function formatShortest(value: number): string {
  return formatFloat(value, 'g', -1)
}

/**
 * @param verb `e`, `E`, `f`, `g` or `G`
 * @param precision digits after the point (`e`, `f`) or significant digits (`g`); -1 for the shortest
 */
export function formatFloat(value: number, verb: string, precision: number): string {
  if (Number.isNaN(value)) return 'NaN'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (!Number.isFinite(value)) return sign === '' ? '+Inf' : '-Inf'
  const magnitude = Math.abs(value)
  const text = formatMagnitude(magnitude, verb.toLowerCase(), precision)
  return sign + (verb === 'E' || verb === 'G' ? text.toUpperCase() : text)
}

function formatMagnitude(value: number, verb: string, precision: number): string {
  if (verb === 'e') return goExponent(precision < 0 ? value.toExponential() : exponential(value, precision))
  if (verb === 'f') return precision < 0 ? plain(value) : fixed(value, precision)
  const shortest = precision < 0
  const wanted = precision === 0 ? 1 : precision
  const text = shortest ? value.toExponential() : exponential(value, wanted - 1)
  const [mantissa = '0', exponentText = '0'] = text.split('e')
  const exponent = Number(exponentText)
  const digits = mantissa.replace('.', '').replace(/(?<!0)0+$/, '')
  // Go compares with the number of digits it has, when those are fewer and the value is an integer.
  let limit = wanted
  if (limit > digits.length && digits.length >= exponent + 1) limit = digits.length
  if (shortest) limit = 6
  if (exponent < -4 || exponent >= limit) {
    const rest = digits.slice(1)
    return goExponent(`${digits[0] ?? '0'}${rest === '' ? '' : `.${rest}`}e${exponent}`)
  }
  return placePoint(digits === '' ? '0' : digits, exponent)
}

/** The exponent with a sign and at least two digits. */
function goExponent(text: string): string {
  return text.replace(/e([+-]?)(\d+)$/, (_, sign, digits) => `e${sign || '+'}${digits.padStart(2, '0')}`)
}

function placePoint(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`
  if (digits.length <= exponent + 1) return digits.padEnd(exponent + 1, '0')
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`
}

function plain(value: number): string {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  return placePoint(mantissa.replace('.', ''), Number(exponent))
}

/** `toExponential` rounds half away from zero on the exact value and knows 100 digits; more are zeros or exact. */
function exponential(value: number, precision: number): string {
  if (precision <= 100 && !isTie(value)) return value.toExponential(precision)
  const { digits, exponent } = exactDecimal(value)
  return roundDigits(digits, exponent, precision + 1)
}

function fixed(value: number, precision: number): string {
  if (value < 1e21 && precision <= 100 && !isTie(value)) return value.toFixed(precision)
  const { digits, exponent } = exactDecimal(value)
  const wanted = exponent + 1 + precision
  if (wanted < 0) return placePoint('0', 0) + (precision > 0 ? `.${'0'.repeat(precision)}` : '')
  const [mantissa = '0', rounded = '0'] = roundDigits(`0${digits}`, exponent + 1, wanted + 1).split('e')
  const all = mantissa.replace('.', '')
  const whole = Number(rounded) + 1
  const head = all.slice(0, whole).replace(/^0+(?=\d)/, '') || '0'
  return precision > 0 ? `${head}.${all.slice(whole, whole + precision).padEnd(precision, '0')}` : head
}

/** A double with few binary digits may lie exactly between two decimals, where Go rounds to even. */
function isTie(value: number): boolean {
  return value !== 0 && Number.isInteger(value * 2 ** 30)
}

/** All decimal digits of a double: 0.d1d2d3… × 10^(exponent + 1). */
function exactDecimal(value: number): { digits: string; exponent: number } {
  if (value === 0) return { digits: '0', exponent: 0 }
  let shift = 0
  let scaled = value
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    shift++
  }
  // value = n / 2^shift = n * 5^shift / 10^shift
  const digits = (BigInt(scaled) * 5n ** BigInt(shift)).toString()
  return { digits: digits.replace(/(?<!0)0+$/, '') || '0', exponent: digits.length - 1 - shift }
}

/** Rounds half to even to `count` digits, in the form of `toExponential`. */
function roundDigits(digits: string, exponent: number, count: number): string {
  let kept = digits.slice(0, count).padEnd(count, '0')
  let power = exponent
  const rest = digits.slice(count)
  const half =
    rest[0] === undefined
      ? -1
      : rest[0] > '5' || (rest[0] === '5' && /[1-9]/.test(rest.slice(1)))
        ? 1
        : rest[0] === '5'
          ? 0
          : -1
  if (half > 0 || (half === 0 && Number(kept[kept.length - 1] ?? '0') % 2 === 1)) {
    const up = (BigInt(kept === '' ? '0' : kept) + 1n).toString().padStart(kept.length, '0')
    if (up.length > kept.length) power++
    kept = up.slice(0, Math.max(count, 1))
  }
  return `${kept[0] ?? '0'}${kept.length > 1 ? `.${kept.slice(1)}` : ''}e${power}`
}
