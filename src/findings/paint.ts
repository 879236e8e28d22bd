import { Chalk, type ChalkInstance } from 'chalk'

const STYLES = ['bold', 'dim', 'red', 'green', 'yellow', 'blue', 'cyan'] as const

export type Paint = (text: string) => string
export type Palette = Readonly<Record<(typeof STYLES)[number], Paint>>

/** Whether it is a terminal is the caller's to know. */
const COLOURED: ChalkInstance = new Chalk({ level: 1 })
const PLAIN = Object.fromEntries(STYLES.map((name) => [name, (text: string) => text])) as Palette

/** What colours text for a terminal, or leaves it as it is. */
export function palette(color: boolean): Palette {
  return color ? COLOURED : PLAIN
}
