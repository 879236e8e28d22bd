import { execFault } from '../errors.ts'
import { allMatches, expand, type Matcher, matcher, replaceMatches } from '../regex/matcher.ts'
import { typedList } from '../values.ts'
import { define, type FunctionEntry, type Host } from './define.ts'

/** The function and its twin `must…`. */
function twin(name: string, params: string, doc: string, call: FunctionEntry['call']): FunctionEntry[] {
  const must = `must${name[0]!.toUpperCase()}${name.slice(1)}`
  return [define(`${name} ${params}`, doc, call), define(`${must} ${params}`, `The same as ${name}`, call)]
}

/** Compiled expressions, the last ones used. */
const cache = new Map<string, Matcher>()
const CACHED = 200

function compiled(source: unknown, host: Host): Matcher {
  // Also for what is in the cache: a rendering costs the same, whatever ran before.
  host.charge((source as string).length >> 2)
  let known = cache.get(source as string)
  if (!known) {
    const made = matcher(source as string)
    if ('error' in made) throw execFault(`error parsing regexp: ${made.error}`)
    if (cache.size >= CACHED) cache.clear()
    cache.set(source as string, made)
    known = made
  }
  host.charge(known.size >> 3)
  return known
}

export const regexes: readonly FunctionEntry[] = [
  define(
    'regexMatch regex:string text:string',
    'True when the expression (RE2) matches',
    ([regex, text], host) => {
      // Sprig takes a wrong expression for one that does not match.
      if (host.go && 'error' in matcher(regex as string)) return false
      return compiled(regex, host).match(text as string, 0, host) !== undefined
    },
  ),
  define('mustRegexMatch regex:string text:string', 'The same as regexMatch', ([regex, text], host) => {
    return compiled(regex, host).match(text as string, 0, host) !== undefined
  }),
  ...twin('regexFind', 'regex:string text:string', 'The first match', ([regex, text], host) => {
    const found = compiled(regex, host).match(text as string, 0, host)
    return found ? (text as string).slice(found[0], found[1]) : ''
  }),
  ...twin(
    'regexFindAll',
    'regex:string text:string count:int',
    'At most count matches; all for -1',
    ([regex, text, count], host) =>
      typedList(
        '[]string',
        allMatches(compiled(regex, host), text as string, Number(count), host).map(([from, to]) =>
          (text as string).slice(from, to),
        ),
      ),
  ),
  ...twin(
    'regexReplaceAll',
    'regex:string text:string by:string',
    'All matches replaced; $1 stands for a group',
    ([regex, text, by], host) => {
      const expression = compiled(regex, host)
      const expanded = (groups: number[]) => {
        host.charge((by as string).length >> 3)
        return expand(by as string, text as string, groups, expression.names)
      }
      return replaceMatches(expression, text as string, expanded, host)
    },
  ),
  ...twin(
    'regexReplaceAllLiteral',
    'regex:string text:string by:string',
    'All matches replaced',
    ([regex, text, by], host) =>
      replaceMatches(compiled(regex, host), text as string, () => by as string, host),
  ),
  ...twin(
    'regexSplit',
    'regex:string text:string count:int',
    'The parts between matches',
    ([regex, text, count], host) =>
      split(compiled(regex, host), regex as string, text as string, Number(count), host),
  ),
  define('regexQuoteMeta text:string', 'The text as an expression that matches it', ([text]) =>
    (text as string).replace(/[\\.+*?()|[\]{}^$]/g, '\\$&'),
  ),
]

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
