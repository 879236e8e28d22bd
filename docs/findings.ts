import { CHECKS, CODES, type CodeInfo, checkOf, type FindingCode } from '../src/findings/index.ts'

/** The page of all findings, from the catalogue. */
export function findingsPage(): string {
  const entries = Object.entries(CODES) as [string, CodeInfo][]
  const rows = entries.map(
    ([code, { severity, title }]) =>
      `| [\`${code}\`](#${code}) | ${severity} | ${checkOf(code as FindingCode)} | ${title} |`,
  )
  const checks = Object.entries(CHECKS).map(([name, what]) => `| \`${name}\` | ${what} |`)
  const sections = entries.map(([code, info]) => section(code, info))
  return `# Findings

Made by \`npm run docs\` from \`src/findings/catalogue.json\`; do not edit.

Every finding has a code, a severity, a place in a file and a hint how to fix it. An \`error\` keeps a configuration from
being served, a \`warning\` does not. \`plantgw explain CODE\` prints the same text. [Validating](validate.md) explains how
findings are selected, silenced and printed.

| check | looks at |
| --- | --- |
${checks.join('\n')}

| code | severity | check | |
| --- | --- | --- | --- |
${rows.join('\n')}

${sections.join('\n')}`
}

function section(code: string, { severity, title, cause, fix, wrong, right }: CodeInfo): string {
  const parts = [
    `## ${code}`,
    `*${severity}* · check \`${checkOf(code as FindingCode)}\` · ${title}`,
    cause,
    `**Fix.** ${fix}`,
  ]
  parts.push(`Wrong:\n\n${yaml(wrong)}`)
  parts.push(`Right:\n\n${yaml(right)}`)
  return `${parts.join('\n\n')}\n`
}

function yaml(text: string): string {
  return `\`\`\`yaml\n${text}\n\`\`\``
}
