import { execFault } from '../errors.ts'
import { newMap } from './convert.ts'
import { define, type FunctionEntry } from './define.ts'

interface Version {
  numbers: [number, number, number]
  /** How many of the numbers were written. */
  given: number
  pre: string
  meta: string
}

export const versions: readonly FunctionEntry[] = [
  define(
    'semver version',
    'The parts of a version: Major, Minor, Patch, Prerelease, Metadata, Original',
    ([text]) => {
      const version = parse(text) ?? wrong()
      const [Major, Minor, Patch] = version.numbers.map(BigInt)
      const { pre: Prerelease, meta: Metadata } = version
      return Object.assign(newMap(), { Major, Minor, Patch, Prerelease, Metadata, Original: text })
    },
  ),
  define(
    'semverCompare constraint version',
    'True if the version fits, such as ">=1.2, <2 || ^3"',
    ([constraint, text]) => {
      const version = parse(text) ?? wrong()
      if (constraint.length > MAX_CONSTRAINT) throw execFault('improper constraint')
      return constraint.split('||').some((part) => fitsAll(part, version))
    },
  ),
].flat()

/** Constraints are read in time by the square of their length. */
const MAX_CONSTRAINT = 500

function wrong(): never {
  throw execFault('invalid semantic version')
}

const VERSION = /^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(?:-([\w.-]+))?(?:\+([\w.-]+))?$/
const PART =
  /(=|==|!=|>=|=>|<=|=<|>|<|~|~>|\^)?\s*v?([\dxX*]+(?:\.[\dxX*]+){0,2}(?:-[\w.-]+)?(?:\+[\w.-]+)?)/y

function parse(text: string): Version | undefined {
  const match = VERSION.exec(text)
  if (!match) return undefined
  const [, major, minor, patch, pre = '', meta = ''] = match
  const given = [major, minor, patch].filter((part) => part !== undefined).length
  return { numbers: [Number(major), Number(minor ?? 0), Number(patch ?? 0)], given, pre, meta }
}

function fitsAll(text: string, version: Version): boolean {
  const spaced = text.replace(/(?<!\S)(\S+)\s+-\s+(\S+)/g, '>=$1, <=$2').trim()
  for (let at = 0; at < spaced.length; ) {
    PART.lastIndex = at
    const match = PART.exec(spaced)
    if (!match) throw execFault('improper constraint')
    if (!fits(match[1] ?? '', match[2]!, version)) return false
    at = PART.lastIndex
    while (at < spaced.length && ' ,'.includes(spaced[at]!)) at++
  }
  return true
}

function fits(operator: string, text: string, version: Version): boolean {
  const wild = /^[xX*]/.test(text)
  const bound = wild ? undefined : (parse(text.replace(/\.[xX*][\s\S]*$/, '')) ?? wrong())
  // A pre-release fits only a constraint that names one.
  if (version.pre !== '' && (bound?.pre ?? '') === '') return operator === '!='
  if (!bound) return operator !== '<' && operator !== '>' && operator !== '!='
  const order = compare(version, bound)
  const [major, minor, patch] = bound.numbers
  const below = (end: Version['numbers']) => order >= 0 && compareNumbers(version.numbers, end) < 0
  switch (operator) {
    case '!=':
      return bound.given < 3 ? !below(nextOf(bound)) : order !== 0
    case '>':
      return bound.given < 3 ? compareNumbers(version.numbers, nextOf(bound)) >= 0 : order > 0
    case '<':
      return order < 0
    case '>=':
    case '=>':
      return order >= 0
    case '<=':
    case '=<':
      return bound.given < 3 ? compareNumbers(version.numbers, nextOf(bound)) < 0 : order <= 0
    case '~':
    case '~>':
      return below(bound.given === 1 ? [major + 1, 0, 0] : [major, minor + 1, 0])
    case '^':
      if (major > 0 || bound.given === 1) return below([major + 1, 0, 0])
      if (minor > 0 || bound.given === 2) return below([0, minor + 1, 0])
      return below([0, 0, patch + 1])
    default:
      return bound.given < 3 ? below(nextOf(bound)) : order === 0
  }
}

/** The first version that a partial one does not stand for: 1.2 ends before 1.3.0. */
function nextOf({ numbers: [major, minor], given }: Version): Version['numbers'] {
  return given === 1 ? [major + 1, 0, 0] : [major, minor + 1, 0]
}

function compareNumbers(a: Version['numbers'], b: Version['numbers']): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : a[at]! - b[at]!
}

function compare(a: Version, b: Version): number {
  return compareNumbers(a.numbers, b.numbers) || comparePre(a.pre, b.pre)
}

/** By https://semver.org, item 11. */
function comparePre(a: string, b: string): number {
  if (a === b) return 0
  if (a === '' || b === '') return a === '' ? 1 : -1
  const [left, right] = [a.split('.'), b.split('.')]
  for (let at = 0; ; at++) {
    const [x, y] = [left[at], right[at]]
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1
    if (x === y) continue
    const numeric = [x, y].map((part) => /^\d+$/.test(part))
    if (numeric[0] && numeric[1]) return Number(x) - Number(y)
    if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1
    return x < y ? -1 : 1
  }
}
