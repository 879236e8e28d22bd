import type { Configuration } from '../config/model.ts'
import type { Path, ReadConfiguration } from '../config/types.ts'
import { type Finding, finding } from '../findings/index.ts'

export type Read = ReadConfiguration & { configuration: Configuration }

/** A place of one of the files. */
export interface At {
  read: Read
  path: Path
}

/** @param first the place of the other one, where two are at odds */
export function report(
  { read, path }: At,
  code: Finding['code'],
  message: string,
  hint: string,
  first?: At,
): Finding {
  const range = placeOf({ read, path })
  const other = first && placeOf(first)
  return finding(code, read.file, message, {
    ...(range && { range }),
    hint,
    ...(first && {
      related: [{ file: first.read.file, ...(other && { range: other }), message: 'the first one' }],
    }),
  })
}

function placeOf({ read, path }: At) {
  return read.locate(path) ?? read.locate.key(path)
}
