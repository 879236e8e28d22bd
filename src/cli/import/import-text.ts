import { dirname } from 'node:path'
import type { Variable } from '../../import/secret-variables.ts'
import type { Imported, ImportedConfiguration } from '../../openapi/index.ts'
import { columns, jsonText } from '../output.ts'

/** Configurations by the path of their files. */
export type Files = ReadonlyMap<string, ImportedConfiguration>

/** Maximum examples for each reason, and maximum reasons. */
const MAX_EXAMPLES = 3
const MAX_REASONS = 12

/** The imported and skipped operations, with reasons. */
export function importText(made: Imported, files: Files, from: string, written: boolean): string {
  const { skipped, leftOut } = made
  const lines = [headLine(made, from)]
  lines.push(
    ...reasons(
      skipped.map(({ operation, reason }) => [reason, operation]),
      'skipped',
    ),
  )
  lines.push(
    ...reasons(
      leftOut.map(({ operation, what, reason }) => [reason, `${operation}: ${what}`]),
      'left out',
    ),
  )
  lines.push(...shortenedLines(made))
  if (written) lines.push(...writtenLines(files))
  lines.push(
    ...variableLines(
      variablesIn(files),
      'Set these environment variables, or write them to a file for --env-file:',
    ),
  )
  if (written) lines.push(...nextLines(made, files))
  return `${lines.join('\n')}\n`
}

/** Next steps with the written files. */
function nextLines({ configurations }: Imported, files: Files): string[] {
  const [first] = files.keys()
  if (first === undefined) return []
  const paths = files.size === 1 ? first : dirname(first)
  // Variables of credentials have no default; those of addresses have one.
  const login = configurations.some(({ variables }) => variables.some(({ preset }) => !preset))
  const missing = [
    '',
    'The description names no login. If the API wants one, import again with',
    `  --header 'Authorization: Bearer {{env "TOKEN"}}'`,
  ]
  return [...(login ? [] : missing), '', 'Next:', `  plantgw validate ${paths}`, `  plantgw serve ${paths}`]
}

/** The effect of a shorter name. */
function shortenedLines({ shortened }: Imported): string[] {
  if (!shortened) return []
  const { tools, name } = shortened
  return [
    `  ${count(tools, 'tool')} with shortened names: ${name}, from the title, leaves them little room. Give a shorter one with --name`,
  ]
}

/** `shop.json: 12 operations, 10 imported, 2 skipped` */
export function headLine(
  { operations, imported, skipped, notSelected }: Imported,
  from: string,
  verb = 'imported',
): string {
  const counts = [
    `${imported} ${verb}`,
    `${skipped.length} skipped`,
    ...(notSelected > 0 ? [`${notSelected} not selected`] : []),
  ]
  return `${from}: ${count(operations, 'operation')}, ${counts.join(', ')}`
}

/** The written files; MCP servers have tools that no file names. */
export function writtenLines(files: Files): string[] {
  const lines = [...files].map(
    ([file, { prefix, tools }]) =>
      `  ${file}  ${prefix}${tools.length > 0 ? `  ${count(tools.length, 'tool')}` : ''}`,
  )
  return lines.length > 0 ? ['', 'Written:', ...lines] : []
}

/** Variables read by templates of the configurations, with the server whose credential or address each is. */
function variablesIn(files: Files): Variable[] {
  const found = new Map<string, Variable>()
  for (const { name: server, variables } of files.values())
    for (const { name, preset } of variables) {
      const use = preset ? `of ${server}; ${preset} without it` : `of ${server}`
      if (!found.has(name)) found.set(name, { name, use, hadValue: false })
    }
  return [...found.values()]
}

/** Variables to set before the configurations can be served. */
export function variableLines(
  variables: readonly Variable[],
  heading = 'Set these environment variables before you serve:',
): string[] {
  if (variables.length === 0) return []
  const lines = columns(
    variables.map(({ name, use, hadValue }) => [
      `  ${name}`,
      hadValue ? `${use}; its value is in the imported file` : use,
    ]),
  )
  return ['', heading, ...lines]
}

/** Each reason once, the most frequent first. */
export function reasons(all: [reason: string, what: string][], verb: string): string[] {
  const byReason = new Map<string, string[]>()
  for (const [reason, what] of all) byReason.set(reason, [...(byReason.get(reason) ?? []), what])
  const sorted = [...byReason].sort((a, b) => b[1].length - a[1].length)
  const lines = sorted.slice(0, MAX_REASONS).flatMap(([reason, what]) => {
    const more = what.length > MAX_EXAMPLES ? [`and ${what.length - MAX_EXAMPLES} more`] : []
    const examples = [...what.slice(0, MAX_EXAMPLES), ...more]
    return [`  ${what.length} ${verb}: ${reason}`, ...examples.map((one) => `      ${one}`)]
  })
  if (sorted.length > MAX_REASONS)
    lines.push(`  and ${sorted.length - MAX_REASONS} more reasons: --format json lists all`)
  return lines
}

/** Standard output holds only one configuration. */
export function tooManyText({ imported }: Imported, files: Files): string {
  const names = [...files.values()].map(({ prefix, tools }) => `  ${prefix}  ${count(tools.length, 'tool')}`)
  return [
    `${count(imported, 'tool')} are too many for one list of tools, so they are split into ${files.size} configurations:`,
    ...names.slice(0, 20),
    ...(names.length > 20 ? [`  and ${names.length - 20} more`] : []),
    'Write them to a folder with -o, or select fewer operations with --tag, --include and --exclude.',
  ].join('\n')
}

/** The same as JSON; includes the configurations if they were not written. */
export function importJson(made: Imported, files: Files, written: boolean): string {
  const { configurations: _, listed: __, tags: ___, ...counts } = made
  const configurations = [...files].map(([file, { name, prefix, tools, text }]) => ({
    name,
    prefix,
    tools,
    ...(written ? { file } : { text }),
  }))
  return jsonText({ ...counts, configurations })
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
