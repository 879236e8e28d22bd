import { isOneEdit } from '../template/edits.ts'
import type { FindingCode } from './codes.ts'
import type { Finding, Fix } from './finding.ts'

/** Findings whose hint begins with the one thing that can have been meant. */
const NAMED = new Set<FindingCode>([
  'unknown-key',
  'unknown-method',
  'invalid-value',
  'dangling-server',
  'dangling-tool',
  'prefix-form',
])
const HINT = /^(?:Did you mean|Write it like) `([^`\n]+)`/
/** What can stand in YAML without quotes, whatever is around it. */
const PLAIN = /^[\w/][\w\-./]*$/

/**
 * The findings, with a `fix` for each name that is one edit, or its case, away from what its hint says was meant, and for
 * the slashes of prefixes. Only what stands in the file as it was read is mended: no aliases, no variables.
 * @param text of the file that all of them are about
 */
export function withMeant(findings: readonly Finding[], text: string): Finding[] {
  return findings.map((found) => {
    const fix = found.fix ?? fixOf(found, text)
    return fix ? { ...found, fix } : found
  })
}

function fixOf({ code, range, hint = '', message }: Finding, text: string): Fix | undefined {
  const meant = NAMED.has(code) ? HINT.exec(hint)?.[1] : undefined
  if (meant === undefined || !range || !PLAIN.test(meant)) return undefined
  const { start, end } = range
  const written = text.slice(start.offset, end.offset)
  const quote = /^(["'])(.*)\1$/s.exec(written)
  const was = quote ? quote[2]! : written
  // The message names what is wrong as it was read.
  if (was === '' || !message.includes(`\`${was}\``)) return undefined
  // Other names that the hint lists may be as near.
  const listed = new Set([...hint.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
  const close = [...listed].filter((name) => isNear(was, name))
  const near = code === 'prefix-form' ? bare(was) === bare(meant) : close.length === 1 && close[0] === meant
  return near ? { range, text: quote ? quote[1] + meant + quote[1] : meant } : undefined
}

const bare = (prefix: string) => prefix.split('/').filter(Boolean).join('/')

/** Whether one edit, or its case, makes one of the other. */
function isNear(one: string, other: string): boolean {
  if (one.toLowerCase() === other.toLowerCase()) return true
  // Of short words every other one is near.
  return Math.max(one.length, other.length) >= 3 && isOneEdit(one, other)
}
