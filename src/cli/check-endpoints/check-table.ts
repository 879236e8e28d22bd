import type { EndpointCheck, Status, Step, User } from '../../endpoints/index.ts'
import { printableJson } from '../../findings/frame.ts'
import { palette } from '../../findings/index.ts'
import { printable } from '../call/tools.ts'

const STATUSES: Status[] = ['ok', 'warning', 'failed', 'skipped']

/** A line for each check, with what was found and who needs it; hints below; a count at the end. */
export function checksTable(checks: readonly EndpointCheck[], color: boolean): string {
  if (checks.length === 0) return 'nothing to check: no tools and no MCP servers\n'
  const { bold, dim, red, green, yellow, cyan } = palette(color)
  const paint = { ok: green, warning: yellow, failed: red, skipped: dim }
  const rows = checks.map((check) => [check.status, check.endpoint, userText(check.usedBy)].map(printable))
  const titles = ['STATUS', 'ENDPOINT', 'USED BY']
  const widths = [0, 1, 2].map((i) =>
    Math.min(i === 1 ? 50 : 40, Math.max(titles[i]!.length, ...rows.map((row) => row[i]!.length))),
  )
  const lines = [bold([...titles.map((title, i) => title.padEnd(widths[i]!)), 'FOUND'].join('  '))]
  for (const [i, { status, steps }] of checks.entries()) {
    const [, endpoint, users] = rows[i]!.map((cell, column) => cell.padEnd(widths[column]!))
    const found = printable(foundText(steps))
    lines.push(`${paint[status](status.padEnd(widths[0]!))}  ${endpoint}  ${users}  ${found}`.trimEnd())
    for (const { status: of, hint } of steps)
      if (hint !== undefined && of !== 'ok')
        lines.push(`${' '.repeat(widths[0]! + 2)}${cyan('hint:')} ${printable(hint)}`)
  }
  const counts = STATUSES.map(
    (status) => [status, checks.filter((one) => one.status === status).length] as const,
  )
  const parts = counts
    .filter(([, count]) => count > 0)
    .map(([status, count]) => paint[status](`${count} ${status}`))
  const total = `${checks.length} ${checks.length === 1 ? 'endpoint' : 'endpoints'}`
  return `${lines.join('\n')}\n\n${total}: ${parts.join(', ')}\n`
}

/** `weather: get_forecast and 3 more`. */
function userText(users: readonly User[]): string {
  const [first] = users
  const more = users.length > 1 ? ` and ${users.length - 1} more` : ''
  return `${first!.configuration}: ${first!.name}${more}`
}

/** What went wrong; where nothing did, what every step found. */
function foundText(steps: readonly Step[]): string {
  const bad = steps.filter(({ status }) => status !== 'ok')
  if (bad.length) return bad.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  return steps.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
}

/** `{checks, summary: {ok, warning, failed, skipped}}` as indented JSON. */
export function checksJson(checks: readonly EndpointCheck[]): string {
  const summary = Object.fromEntries(
    STATUSES.map((status) => [status, checks.filter((one) => one.status === status).length]),
  )
  const shown = checks.map(({ steps, ...check }) => ({
    ...check,
    steps: steps.map(({ transient: _, ...step }) => step),
  }))
  return `${printableJson(JSON.stringify({ checks: shown, summary }, null, 2))}\n`
}
