import { ExactNumber, type Json } from '../../json/index.ts'
import { spend } from './work.ts'

/**
 * Makes keys that are the same exactly for values that JSON Schema takes for equal (2020-12 core, 4.2.2): numbers by
 * their mathematical value, objects whatever the order of their members. Takes time linear to all that is asked for.
 */
export class Keys {
  readonly #made = new Map<string, Key>()
  readonly #known = new WeakMap<object, Key>()

  /** A scalar is its own key. */
  of(value: Json): Scalar | Key {
    if (typeof value === 'bigint') return this.#number(value.toString())
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof ExactNumber) return this.#number(value.text)
    let key = this.#known.get(value)
    if (!key) {
      key = this.#key(Array.isArray(value) ? this.#list(value) : this.#map(value))
      this.#known.set(value, key)
    }
    return key
  }

  #list(items: Json[]): string {
    spend(24 + (items.length << 2))
    return `[${items.map((item) => this.#part(item)).join()}]`
  }

  #map(members: { [name: string]: Json }): string {
    const names = Object.keys(members)
    spend(32 + (names.length << 3))
    if (names.length > 1) names.sort()
    return `{${names.map((name) => `${JSON.stringify(name)}:${this.#part(members[name]!)}`).join()}}`
  }

  /** A value in the text of what holds it: what is no scalar by its number, so that no text is longer than its value. */
  #part(value: Json): string {
    const key = this.of(value)
    if (key instanceof Key) return `#${key.number}`
    if (typeof key !== 'string') return String(key)
    spend(key.length >> 2)
    return JSON.stringify(key)
  }

  #number(text: string): number | Key {
    spend(100 + text.length)
    const decimal = normalized(text)
    const double = Number(text)
    return Number.isFinite(double) && normalized(String(double)) === decimal ? double : this.#key(decimal)
  }

  #key(text: string): Key {
    let key = this.#made.get(text)
    if (!key) {
      key = new Key(this.#made.size)
      this.#made.set(text, key)
    }
    return key
  }
}

export type Scalar = null | boolean | number | string
export class Key {
  constructor(readonly number: number) {}
}

/** A JSON number as `-digits`e`exponent`, without zeros at either end: the same text for the same number. */
function normalized(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = whole + fraction
  let start = 0
  while (digits[start] === '0') start++
  let end = digits.length
  while (end > start && digits[end - 1] === '0') end--
  if (start === end) return '0e0'
  const power = Number(exponent) + digits.length - end - fraction.length
  return `${mantissa.startsWith('-') ? '-' : ''}${digits.slice(start, end)}e${power}`
}
