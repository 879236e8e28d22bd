import type { FindingCode } from './codes.ts'

export type Severity = 'error' | 'warning' | 'info'

/** A place in a file. `line` and `column` count from 1, `offset` from 0, all in UTF-16 units. */
export interface Position {
  line: number
  column: number
  offset: number
}

/** From `start` up to, not including, `end`. */
export interface Range {
  start: Position
  end: Position
}

/** One thing that is wrong with what a user wrote: where it is, and how to fix it. */
export interface Finding {
  code: FindingCode
  severity: Severity
  /** Path as the user gave it; `-` for standard input. */
  file: string
  /** Absent when the finding concerns the file as a whole. */
  range?: Range
  /** One sentence without a full stop that names the thing at fault. */
  message: string
  /** How to fix it, as an instruction; begins with the suggestion. */
  hint?: string
  /** What was most likely meant. */
  suggestion?: string
  /** Other places that belong to it, such as the first of two duplicates. */
  related?: { file: string; range?: Range; message: string }[]
  /** What `--fix` writes; only where it is unambiguous. */
  fix?: Fix
}

/** A replacement of the text between two places of the finding's file. */
export interface Fix {
  range: Range
  text: string
}
