const DURATIONS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const KIB = 1024
const SIZES: Record<string, number> = {
  '': 1,
  B: 1,
  kB: 1000,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: KIB,
  MiB: KIB ** 2,
  GiB: KIB ** 3,
}

/** `600s`, `10m`, `500ms`, `1h30m`; a plain number is seconds. Milliseconds, or undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined
  let sum = 0
  for (const [, amount, unit] of text.matchAll(/(?<![\d.])(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    sum += Number(amount) * DURATIONS[unit!]!
  }
  return Math.round(sum)
}

/** `4MiB`, `10MB`; a plain number is bytes. Bytes, or undefined when it is none. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([kKMG]i?B|B|)$/.exec(text)
  const unit = match && SIZES[match[2]!]
  return unit ? Math.floor(Number(match[1]) * unit) : undefined
}
