import { join } from 'node:path'
import type { Variable } from '../../import/secret-variables.ts'
import type { Imported, ListedOperation } from '../../openapi/index.ts'
import { counted, firstOf, groupBy, printableLines, shorten } from '../../text/index.ts'
import { columns, jsonText } from '../output.ts'
import { finish, type OutputFlags, type Report, reasons } from './report.ts'

/**
 * Writes configurations of operations, with a report of omissions.
 * @param values those of secrets in the imported file, by names of variables
 * @returns the exit code
 * @throws Error if several configurations would go to standard output
 */
export function finishOperations(
  made: Imported,
  from: string,
  flags: OutputFlags,
  values: ReadonlyMap<string, string> = new Map(),
): Promise<number> {
  const { configurations, listed: _, tags: __, name: ___, ...counts } = made
  const isWritten = flags.output !== undefined
  if (!isWritten && flags.format === 'text' && configurations.length > 1) throw new Error(tooManyText(made))
  const pathOf = (name: string) => join(flags.output ?? '', `${name}.yaml`)
  const report: Report = {
    code: made.imported > 0 ? 0 : 1,
    lines: reportLines(made, from),
    files: new Map(
      configurations.map(({ name, prefix, tools, text }) => [
        pathOf(name),
        { text, about: `${prefix}  ${counted(tools.length, 'tool')}` },
      ]),
    ),
    variables: variablesOf(made, values),
    json: {
      ...counts,
      configurations: configurations.map(({ name, prefix, tools, text }) => ({
        ...{ name, prefix, tools },
        ...(isWritten ? { file: pathOf(name) } : { text }),
      })),
    },
  }
  // Variables of credentials have no default; those of addresses have one.
  if (isWritten && report.variables.every(({ use }) => use.includes(' without it')))
    report.advice = [
      '',
      'The description names no login. If the API wants one, import again with',
      `  --header 'Authorization: Bearer {{env "TOKEN"}}'`,
    ]
  return finish(report, flags)
}

function reportLines(made: Imported, from: string): string[] {
  const { skipped, leftOut, notes, shortened } = made
  return [
    headLine(made, from),
    ...reasons(
      skipped.map(({ operation, reason }) => [reason, operation]),
      'skipped',
    ),
    ...reasons(
      leftOut.map(({ operation, what, reason }) => [reason, `${operation}: ${what}`]),
      'left out',
    ),
    ...notes.map((note) => `  ${note}`),
    ...(shortened
      ? [
          `  ${counted(shortened.tools, 'tool')} with shortened names: ${shortened.name}, from the title, leaves them little room. Give a shorter one with --name`,
        ]
      : []),
  ]
}

/** `shop.json: 12 operations, 10 imported, 2 skipped` */
function headLine(
  { operations, imported, skipped, notSelected }: Imported,
  from: string,
  verb = 'imported',
): string {
  const counts = [
    `${imported} ${verb}`,
    `${skipped.length} skipped`,
    ...(notSelected > 0 ? [`${notSelected} not selected`] : []),
  ]
  return `${from}: ${counted(operations, 'operation')}, ${counts.join(', ')}`
}

/** Variables of the configurations, with the server whose credential or address each is. */
function variablesOf({ configurations }: Imported, values: ReadonlyMap<string, string>): Variable[] {
  const found = new Map<string, Variable>()
  for (const { name: server, variables } of configurations)
    for (const { name, preset } of variables) {
      const use = preset ? `of ${server}; ${preset} without it` : `of ${server}`
      const value = values.get(name)
      if (!found.has(name)) found.set(name, { name, use, ...(value && { value }) })
    }
  return [...found.values()]
}

/** Standard output holds only one configuration. */
function tooManyText({ imported, configurations }: Imported): string {
  const names = configurations.map(({ prefix, tools }) => `${prefix}  ${counted(tools.length, 'tool')}`)
  return [
    `${counted(imported, 'tool')} are too many for one list of tools, so they are split into ${names.length} configurations:`,
    ...firstOf(names, 20).map((line) => `  ${line}`),
    'Write them to a folder with -o, or select fewer operations with --tag, --include and --exclude.',
  ].join('\n')
}

/** Maximum characters of a method with its path, and of a name, that stay aligned. */
const WIDEST = [60, 40]
const UNTAGGED = 'no tag'

/** The operations of a description by tag, with their import names. */
export function listText(made: Imported, from: string): string {
  const groups = [...groupBy(made.listed, ({ tags: [first = UNTAGGED] }) => first)].map(
    ([tag, operations]) => {
      const { title = '', description = '' } = made.tags.get(tag) ?? {}
      const said = [title, description].filter(Boolean).join('. ')
      const heading = `${tag} (${operations.length})${said && `: ${said}`}`
      return ['', heading, ...columns(operations.map(rowOf), WIDEST)]
    },
  )
  const notes = made.operations === 0 ? made.notes.map((note) => `  ${note}`) : []
  const lines = [headLine(made, from, 'can be imported'), ...notes, ...groups.flat()]
  return `${printableLines(lines.join('\n'))}\n`
}

function rowOf({ operation, name, reason, summary }: ListedOperation): string[] {
  const said = reason === undefined ? shorten(summary, 80) : `skipped: ${reason}`
  const state = name ?? (reason === undefined ? 'not selected' : '-')
  return [`  ${operation}`, state, said]
}

/** The same as JSON. */
export function listJson({ listed, tags, operations, imported, notSelected }: Imported): string {
  const described = [...tags].map(([name, { title, description }]) => ({
    name,
    ...(title && { title }),
    ...(description && { description }),
  }))
  return jsonText({ operations, imported, notSelected, tags: described, listed })
}
