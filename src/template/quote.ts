import { fromBytes } from './bytes.ts'

const SIMPLE: Record<string, number> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92 }

/**
 * Reads a Go string literal, quotes included.
 * @returns undefined for wrong syntax
 */
export function unquote(literal: string): string | undefined {
  const quote = literal[0]!
  const body = literal.slice(1, -1)
  if (quote === '`') return body.replaceAll('\r', '')
  if (!body.includes('\\')) return body
  const parts: number[] = []
  for (let at = 0; at < body.length; ) {
    const unit = readUnit(body, at, '"')
    if (!unit) return undefined
    if (unit.byte) parts.push(unit.code)
    else parts.push(...new TextEncoder().encode(String.fromCodePoint(unit.code)))
    at = unit.next
  }
  return fromBytes(Uint8Array.from(parts))
}

/**
 * Reads a Go rune literal, quotes included.
 * @returns the code point, or undefined for wrong syntax
 */
export function unquoteChar(literal: string): number | undefined {
  const body = literal.slice(1, -1)
  if (body === '') return undefined
  const unit = readUnit(body, 0, "'")
  return unit && unit.next === body.length ? unit.code : undefined
}

type Unit = { code: number; byte: boolean; next: number }

function readUnit(body: string, at: number, quote: string): Unit | undefined {
  if (body[at] !== '\\') {
    const code = body.codePointAt(at)!
    return {
      code: code >= 0xd800 && code < 0xe000 ? 0xfffd : code,
      byte: false,
      next: at + (code > 0xffff ? 2 : 1),
    }
  }
  const letter = body[at + 1] ?? ''
  if (Object.hasOwn(SIMPLE, letter)) return { code: SIMPLE[letter]!, byte: false, next: at + 2 }
  if (letter === quote) return { code: quote.charCodeAt(0), byte: false, next: at + 2 }
  const digits = { x: 2, u: 4, U: 8 }[letter]
  if (digits !== undefined) {
    const hex = body.slice(at + 2, at + 2 + digits)
    if (hex.length !== digits || !/^[0-9a-fA-F]+$/.test(hex)) return undefined
    const code = Number.parseInt(hex, 16)
    if (code > 0x10ffff || (letter !== 'x' && code >= 0xd800 && code < 0xe000)) return undefined
    return { code, byte: letter === 'x', next: at + 2 + digits }
  }
  const octal = body.slice(at + 1, at + 4)
  if (!/^[0-7]{3}$/.test(octal)) return undefined
  const code = Number.parseInt(octal, 8)
  return code > 255 ? undefined : { code, byte: true, next: at + 4 }
}
