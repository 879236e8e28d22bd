import type { Locate, Path, Settings } from '../config/index.ts'
import { type Finding, type FindingCode, finding } from '../findings/index.ts'
import { pidFault } from '../notify/pidfile.ts'

/** Settings that were read, and where what they say stands. */
export interface PlacedSettings {
  settings: Settings
  file: string
  locate: Locate
}

const PID_HINT = 'Choose another path, or give the user of the gateway the right to write there'

/** Whether the pid file of the settings can be written. Nothing is written. */
export function pidFindings(placed: PlacedSettings): Finding[] {
  const { pid } = placed.settings
  const fault = pid === undefined ? undefined : pidFault(pid)
  return fault === undefined ? [] : [at(placed, 'pid-not-writable', ['pid'], fault, PID_HINT)]
}

/** A finding at a place of settings, or of a configuration. */
export function at(
  { file, locate }: Pick<PlacedSettings, 'file' | 'locate'>,
  code: FindingCode,
  path: Path,
  message: string,
  hint?: string,
): Finding {
  const range = locate(path) ?? locate.key(path)
  return finding(code, file, message, { ...(range && { range }), ...(hint !== undefined && { hint }) })
}
