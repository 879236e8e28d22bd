import type { EndpointCheck, Step, User } from '../../endpoints/index.ts'
import { xmlAttribute, xmlText } from '../../findings/index.ts'

interface Case {
  user: User
  check: EndpointCheck
}

/**
 * JUnit XML: a suite for each file, a case for each tool and MCP server. What is asked once for many tools fails
 * for each of them; a warning is no failure, and stands in the case's output.
 */
export function checksJunit(checks: readonly EndpointCheck[]): string {
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
