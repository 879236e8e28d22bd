import type { EndpointCheck, Status, Step, User } from '../../endpoints/index.ts'
import { palette, xmlAttribute, xmlText } from '../../findings/index.ts'
import { printable } from '../call/printable.ts'
import { columns, jsonText } from '../output.ts'

/** Output formats of checks. */
export const FORMATS = { text: checksTable, json: checksJson, junit: checksJunit }

/** Width of the status column. */
const INDENT = ' '.repeat(9)
const STATUSES: Status[] = ['ok', 'warning', 'failed', 'skipped']

/** A line for each check, with its result and users; hints below; a summary at the end. */
function checksTable(checks: readonly EndpointCheck[], color: boolean): string {
  if (checks.length === 0) return 'nothing to check: no tools and no MCP servers\n'
  const { bold, dim, red, green, yellow, cyan } = palette(color)
  const paint = { ok: green, warning: yellow, failed: red, skipped: dim }
  const rows = checks.map(({ status, endpoint, usedBy, steps }) =>
    [status.padEnd(7), endpoint, userText(usedBy), foundText(steps)].map(printable),
  )
  const [head = '', ...shown] = columns([['STATUS', 'ENDPOINT', 'USED BY', 'FOUND'], ...rows], [7, 50, 40])
  const lines = checks.flatMap(({ status, steps }, i) => [
    paint[status](status) + shown[i]!.slice(status.length),
    ...steps.flatMap((step) =>
      step.hint === undefined || step.status === 'ok'
        ? []
        : `${INDENT}${cyan('hint:')} ${printable(step.hint)}`,
    ),
  ])
  const counts = STATUSES.map(
    (status) => [status, checks.filter((one) => one.status === status).length] as const,
  )
  const parts = counts
    .filter(([, count]) => count > 0)
    .map(([status, count]) => paint[status](`${count} ${status}`))
  const total = `${checks.length} ${checks.length === 1 ? 'endpoint' : 'endpoints'}`
  return `${[bold(head), ...lines].join('\n')}\n\n${total}: ${parts.join(', ')}\n`
}

/** `weather: get_forecast and 3 more`. */
function userText(users: readonly User[]): string {
  const [first] = users
  const more = users.length > 1 ? ` and ${users.length - 1} more` : ''
  return `${first!.configuration}: ${first!.name}${more}`
}

/** The faults; without faults, the findings of every step. */
function foundText(steps: readonly Step[]): string {
  const bad = steps.filter(({ status }) => status !== 'ok')
  return (bad.length ? bad : steps).map(({ name, detail }) => `${name}: ${detail}`).join('; ')
}

/** `{checks, summary: {ok, warning, failed, skipped}}` as indented JSON. */
function checksJson(checks: readonly EndpointCheck[]): string {
  const summary = Object.fromEntries(
    STATUSES.map((status) => [status, checks.filter((one) => one.status === status).length]),
  )
  const shown = checks.map(({ steps, ...check }) => ({
    ...check,
    steps: steps.map(({ transient: _, ...step }) => step),
  }))
  return jsonText({ checks: shown, summary })
}

interface Case {
  user: User
  check: EndpointCheck
}

/**
 * JUnit XML: a suite for each file, a case for each tool and MCP server. A shared check that fails, fails for all its
 * users; warnings appear only in the case's output.
 */
function checksJunit(checks: readonly EndpointCheck[]): string {
  const cases = checks.flatMap((check) => check.usedBy.map((user): Case => ({ user, check })))
  const files = [...new Set(cases.map(({ user }) => user.file))]
  const suites = files.map((file) =>
    suite(
      file,
      cases.filter(({ user }) => user.file === file),
    ),
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites${counts(cases)}>\n${suites.join('')}</testsuites>\n`
}

function counts(cases: readonly Case[]): string {
  const of = (status: string) => cases.filter(({ check }) => check.status === status).length
  return ` tests="${cases.length}" failures="${of('failed')}" errors="0" skipped="${of('skipped')}"`
}

function suite(file: string, cases: readonly Case[]): string {
  const inner = cases.map(({ user, check }) => {
    const { status, steps, endpoint, type, ms } = check
    const name = `${user.name} (${type === 'call' ? 'call' : endpoint})`
    const head = `    <testcase classname="${xmlAttribute(user.configuration)}" name="${xmlAttribute(name)}" file="${xmlAttribute(file)}" time="${(ms / 1000).toFixed(3)}"`
    const parts = [...problems(steps, status), output(steps)]
    return `${head}>\n${parts.map((part) => `      ${part}\n`).join('')}    </testcase>\n`
  })
  return `  <testsuite name="${xmlAttribute(file)}"${counts(cases)}>\n${inner.join('')}  </testsuite>\n`
}

function problems(steps: readonly Step[], status: EndpointCheck['status']): string[] {
  if (status === 'skipped') {
    const [first] = steps.filter((step) => step.status === 'skipped')
    return [`<skipped message="${xmlAttribute(first?.detail ?? '')}"/>`]
  }
  return steps
    .filter((step) => step.status === 'failed')
    .map(
      ({ code = '', detail, hint = '' }) =>
        `<failure type="${xmlAttribute(code)}" message="${xmlAttribute(detail)}">${xmlText(hint)}</failure>`,
    )
}

function output(steps: readonly Step[]): string {
  const lines = steps.map(
    ({ name, status, detail }) => `${status === 'ok' ? '' : `${status}: `}${name}: ${detail}`,
  )
  return `<system-out>${xmlText(lines.join('\n'))}</system-out>`
}
