import { isUtf8 } from 'node:buffer'

/** Why bytes are no text, and what makes text of them. */
export interface NotText {
  /** `compressed with gzip`. */
  what: string
  cure: string
}

/** By how the bytes begin, as Latin-1. */
const KINDS: readonly [RegExp, NotText][] = [
  [/^\x1f\x8b/, { what: 'compressed with gzip', cure: 'decompress it with `gunzip`' }],
  [/^BZh\d1AY/, { what: 'compressed with bzip2', cure: 'decompress it with `bunzip2`' }],
  [/^\xfd7zXZ\0/, { what: 'compressed with xz', cure: 'decompress it with `unxz`' }],
  [/^\x28\xb5\x2f\xfd/, { what: 'compressed with Zstandard', cure: 'decompress it with `unzstd`' }],
  [/^PK(?:\x03\x04|\x05\x06)/, { what: 'a ZIP archive', cure: 'extract the file from it' }],
  [/^(?:\xff\xfe|\xfe\xff|[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/, { what: 'UTF-16 text', cure: 'save it as UTF-8' }],
]

/** Undefined: they are UTF-8 text. */
export function notText(bytes: Uint8Array): NotText | undefined {
  const start = Buffer.from(bytes.subarray(0, 8)).toString('latin1')
  const [, known] = KINDS.find(([form]) => form.test(start)) ?? []
  return known ?? (isUtf8(bytes) ? undefined : { what: 'not UTF-8 text', cure: 'save it as UTF-8' })
}
