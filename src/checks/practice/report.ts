import type { Path, ReadConfiguration } from '../../config/index.ts'
import { type Finding, finding, type Severity } from '../../findings/index.ts'

export type Advise = (
  code: Finding['code'],
  path: Path,
  message: string,
  hint: string,
  severity?: Severity,
) => void

/** Adds findings at paths of one file; none where what stands there is in doubt. */
export function adviser(read: ReadConfiguration, findings: Finding[]): Advise {
  const { file, locate, doubtful } = read
  return (code, path, message, hint, severity) => {
    if (doubtful(path)) return
    const range = locate(path) ?? locate.key(path)
    findings.push(
      finding(code, file, message, { ...(range && { range }), hint, ...(severity && { severity }) }),
    )
  }
}
