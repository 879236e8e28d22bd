import { lintTemplates } from '../checks/templates/index.ts'
import type { Configuration, ReadConfiguration } from '../config/index.ts'
import type { Finding, Range } from '../findings/index.ts'
import { type PrepareContext, type Prepared, prepare } from './prepare.ts'

/**
 * Compiles and lints one configuration: what it would serve, and all that is wrong, each mistake told once.
 * @param turn lets calls have their turn in between
 */
export async function inspect(
  read: ReadConfiguration & { configuration: Configuration },
  context: PrepareContext,
  turn: () => Promise<void> | undefined,
): Promise<{ prepared: Prepared; findings: Finding[] }> {
  const { prepared, findings } = prepare(read, context)
  await turn()
  const linted = lintTemplates(read, context.env, context.memo)
  const unset = [...read.findings, ...linted].filter(({ code }) => code === 'env-unset')
  const errors = linted.filter(({ severity }) => severity === 'error')
  return {
    prepared,
    findings: [...findings.filter((one) => !isTold(one, errors) && !overlaps(one.range, unset)), ...linted],
  }
}

/**
 * The linter says more exactly what compiling a template complains of.
 * @param errors of the linter, for the same file
 */
function isTold({ code, range, message }: Finding, errors: readonly Finding[]): boolean {
  // The linter compiles every template too, and leaves out what is only an echo of another error.
  if (code === 'template-syntax' || code === 'template-context') return errors.length > 0
  if (code !== 'env-unset' && !/\b(?:cannot|could not) be made\b/.test(message)) return false
  return overlaps(range, errors)
}

/** Whether a finding stands where one of the others does, and so is their echo. */
function overlaps(range: Range | undefined, others: readonly Finding[]): boolean {
  return others.some(
    (one) =>
      range !== undefined &&
      one.range !== undefined &&
      one.range.start.offset < range.end.offset &&
      range.start.offset < one.range.end.offset,
  )
}
