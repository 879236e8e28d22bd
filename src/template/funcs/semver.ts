import Range from 'semver/classes/range.js'
import { execFault } from '../errors.ts'
import { newMap } from './convert.ts'
import { define, type FunctionEntry } from './define.ts'

interface Version {
  numbers: [major: string, minor: string, patch: string]
  pre: string
  meta: string
}

export const versions: readonly FunctionEntry[] = [
  define(
    'semver version',
    'The parts of a version: Major, Minor, Patch, Prerelease, Metadata, Original',
    ([text]) => {
      const version = parse(text) ?? failVersion()
      const [Major, Minor, Patch] = version.numbers.map(BigInt)
      const { pre: Prerelease, meta: Metadata } = version
      return Object.assign(newMap(), { Major, Minor, Patch, Prerelease, Metadata, Original: text })
    },
  ),
  define(
    'semverCompare constraint version',
    'True if the version fits, such as ">=1.2, <2 || ^3"',
    ([constraint, text]) => {
      const version = parse(text) ?? failVersion()
      // Maximum characters of a constraint, as parsing takes quadratic time.
      if (constraint.length > 500) throw execFault('improper constraint')
      return constraint.split('||').some((part) => fitsAll(part, version))
    },
  ),
].flat()

function failVersion(): never {
  throw execFault('invalid semantic version')
}

const VERSION = /^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(?:-([\dA-Za-z.-]+))?(?:\+([\dA-Za-z.-]+))?$/
const PART =
  /(=|==|!=|>=|=>|<=|=<|>|<|~|~>|\^)?\s*v?([\dxX*]+(?:\.[\dxX*]+){0,2}(?:-[\dA-Za-z.-]+)?(?:\+[\dA-Za-z.-]+)?)/y
/** Operators specific to Go's package. */
const OPERATORS: Readonly<Record<string, string>> = { '==': '=', '=>': '>=', '=<': '<=', '~>': '~', '!=': '' }

function parse(text: string): Version | undefined {
  const match = VERSION.exec(text)
  if (!match) return undefined
  const [, major = '', minor = '0', patch = '0', pre = '', meta = ''] = match
  return { numbers: [major, minor, patch], pre, meta }
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

function fits(operator: string, bound: string, { numbers, pre }: Version): boolean {
  // A pre-release matches only constraints that name one.
  if (pre !== '' && !bound.includes('-')) return operator === '!='
  const version = numbers.join('.') + (pre && `-${pre}`)
  const [given, , , patch] = GIVEN.exec(bound)!
  // If a number is omitted, every version matches there, including pre-releases.
  const range = rangeOf((OPERATORS[operator] ?? operator) + (patch ? bound : given || '*'))
  return range.test(version) !== (operator === '!=')
}

function rangeOf(text: string): Range {
  try {
    return new Range(text, { includePrerelease: true, loose: true })
  } catch {
    throw execFault('improper constraint')
  }
}

const GIVEN = /^(\d+)?(\.\d+)?(\.\d+)?/
