/** Codes that begin and end a style on a terminal (ECMA-48, SGR). */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
} as const

export type Paint = (text: string) => string
export type Palette = Readonly<Record<keyof typeof STYLES, Paint>>

const as =
  ([on, off]: readonly [number, number]): Paint =>
  (text) =>
    text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`

const COLOURED = Object.fromEntries(
  Object.entries(STYLES).map(([name, codes]) => [name, as(codes)]),
) as Palette
const PLAIN = Object.fromEntries(Object.keys(STYLES).map((name) => [name, (text: string) => text])) as Palette

/** What colours text for a terminal, or leaves it as it is. */
export function palette(color: boolean): Palette {
  return color ? COLOURED : PLAIN
}
