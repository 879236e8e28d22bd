import { Option } from 'commander'
import { type Finding, formatGithub, formatJson, formatSarif, formatText } from '../findings/index.ts'
import { wantsColor } from './print.ts'
import { VERSION } from './version.ts'

export type Format = 'text' | 'json' | 'sarif' | 'github'

export function formatOption(): Option {
  const formats: Format[] = ['text', 'json', 'sarif', 'github']
  return new Option('--format <format>', 'how findings are printed').choices(formats).default('text')
}

/**
 * Findings as standard output gets them.
 * @param sound what text says when there are none
 */
export function report(
  findings: readonly Finding[],
  sources: ReadonlyMap<string, string>,
  format: Format,
  sound: string,
): string {
  switch (format) {
    case 'json':
      return formatJson(findings)
    case 'sarif':
      return formatSarif(findings, VERSION)
    case 'github':
      return formatGithub(findings)
    default:
      return findings.length > 0
        ? formatText(findings, sources, { color: wantsColor(process.stdout) })
        : `${sound}\n`
  }
}

/** `1 file`, `2 files`. */
export function fileCount(files: number): string {
  return `${files} ${files === 1 ? 'file' : 'files'}`
}
