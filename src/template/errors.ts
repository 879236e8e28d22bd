import type { positionsOf } from '../text/index.ts'
import type { Span } from './node.ts'
import { RenderError, type TemplateError } from './types.ts'

/** The line and column of an offset (from 1, in UTF-16 units). */
export type Locate = ReturnType<typeof positionsOf>

/** Collects the errors of a template in order of discovery, without duplicates. */
export interface ErrorSink {
  readonly errors: TemplateError[]
  /** Whether further errors are dropped. */
  full(): boolean
  add(
    kind: TemplateError['kind'],
    span: Span,
    message: string,
    hint?: string,
    more?: { unclosed: true } | { variable: string },
  ): void
}

export function errorSink(locate: Locate): ErrorSink {
  const errors: TemplateError[] = []
  const isKnown = ({ start }: Span, message: string) =>
    errors.some((one) => one.start === start && one.message === message)
  return {
    errors,
    full: () => errors.length >= 100,
    add(kind, span, message, hint, more) {
      if (errors.length >= 100 || isKnown(span, message)) return
      const { start, end } = span
      const { line, column } = locate(start)
      const place = { start, end, line, column }
      errors.push({ kind, message, ...(hint === undefined ? {} : { hint }), ...place, ...more })
    },
  }
}

/** Thrown by functions and expressions while rendering; the position is added while it propagates. */
export class Fault extends Error {
  constructor(
    readonly kind: RenderError['kind'],
    message: string,
    readonly span?: Span,
    readonly hint?: string,
    readonly ofType = false,
  ) {
    super(message)
  }
}

export function execFault(message: string, span?: Span, hint?: string): Fault {
  return new Fault('exec', message, span, hint)
}

/** A value of the wrong type, regardless of its content. */
export function typeFault(message: string, span?: Span, hint?: string): Fault {
  return new Fault('exec', message, span, hint, true)
}

/** The error thrown by `render`; its message ends with the expression. */
export function renderError(fault: Fault, source: string, locate: Locate): RenderError {
  const { start, end } = fault.span ?? { start: 0, end: 0 }
  const { line, column } = locate(start)
  const expression = source.slice(start, Math.min(end, start + 80)).replace(/\s+/g, ' ')
  const message = expression === '' ? fault.message : `${fault.message}, at ${expression}`
  return new RenderError(fault.kind, message, start, end, line, column, fault.hint, fault.ofType)
}
