import { execFault } from '../errors.ts'
import { allMatches, expand, type Matcher, matcher, replaceMatches } from '../regex/matcher.ts'
import type { Host } from '../types.ts'
import { typedList } from '../values.ts'
import { define, type FunctionEntry, twins } from './define.ts'

/** Recently used compiled expressions. */
const cache = new Map<string, Matcher>()
const CACHED = 200

function compiled(source: string, host: Host): Matcher {
  // Charged even if cached, so that a rendering always costs the same.
  host.charge(source.length >> 2)
  let known = cache.get(source)
  if (!known) {
    const made = matcher(source)
    if ('error' in made) throw execFault(`error parsing regexp: ${made.error}`)
    if (cache.size >= CACHED) cache.clear()
    cache.set(source, made)
    known = made
  }
  host.charge(known.size >> 3)
  return known
}

export const regexes: readonly FunctionEntry[] = [
  define('regexMatch regex text', 'True if the expression (RE2) matches', ([regex, text], host) => {
    // Sprig treats an invalid expression as one that does not match.
    if (host.go && 'error' in matcher(regex)) return false
    return compiled(regex, host).match(text, 0, host) !== undefined
  }),
  define('mustRegexMatch regex text', 'The same as regexMatch', ([regex, text], host) => {
    return compiled(regex, host).match(text, 0, host) !== undefined
  }),
  twins('regexFind', 'regex text', 'The first match', ([regex, text], host) => {
    const found = compiled(regex, host).match(text, 0, host)
    return found ? text.slice(found[0], found[1]) : ''
  }),
  twins(
    'regexFindAll',
    'regex text count:int',
    'At most count matches; all for -1',
    ([regex, text, count], host) => {
      const found = allMatches(compiled(regex, host), text, Number(count), host)
      return typedList(
        '[]string',
        found.map(([from, to]) => text.slice(from, to)),
      )
    },
  ),
  twins(
    'regexReplaceAll',
    'regex text by',
    'All matches replaced; $1 stands for a group',
    ([regex, text, by], host) => {
      const expression = compiled(regex, host)
      const expanded = (groups: number[]) => {
        host.charge(by.length >> 3)
        return expand(by, text, groups, expression.names)
      }
      return replaceMatches(expression, text, expanded, host)
    },
  ),
  twins('regexReplaceAllLiteral', 'regex text by', 'All matches replaced', ([regex, text, by], host) =>
    replaceMatches(compiled(regex, host), text, () => by, host),
  ),
  twins('regexSplit', 'regex text count:int', 'The parts between matches', ([regex, text, count], host) =>
    split(compiled(regex, host), regex, text, Number(count), host),
  ),
  define('regexQuoteMeta text', 'An expression that matches the string literally', ([text]) =>
    text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&'),
  ),
].flat()

function split(expression: Matcher, source: string, text: string, count: number, host: Host): string[] {
  if (count === 0) return []
  if (source !== '' && text === '') return ['']
  const parts = typedList<string>('[]string', [])
  let from = 0
  let end = 0
  for (const [start, stop] of allMatches(expression, text, count, host)) {
    if (count > 0 && parts.length === count - 1) break
    end = start!
    if (stop !== 0) parts.push(text.slice(from, end))
    from = stop!
  }
  if (end !== text.length) parts.push(text.slice(from))
  return parts
}
