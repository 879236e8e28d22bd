import type { Host } from './function.ts'

/**
 * What a step pays for, so that the limit on steps bounds the time: about a microsecond. Functions are charged
 * before they run, for the texts and lists that they are given, and afterwards for what they made.
 */

/** UTF-16 units of a text that a step pays for, where a function looks at no single character. */
const QUICK = 256

/** The same for functions that do, by how much time they take for each. */
const SLOW: [number, string][] = [
  [
    64,
    'len index slice mustSlice substr trunc b64enc b64dec sha1sum sha256sum sha512sum replace lt le gt ge trim indent ' +
      'nindent urlquery fromJSON fromJson mustFromJson',
  ],
  [32, 'quote trimAll trimall splitList nospace urlParse'],
  [
    16,
    'html initials abbrev abbrevboth wrap wrapWith b32dec base osBase dir osDir clean osClean ext osExt urlJoin safeGet ' +
      'safeGetOr atoi toDecimal date dateInZone date_in_zone htmlDateInZone dateModify date_modify mustDateModify ' +
      'must_date_modify duration durationRound ago unixEpoch semver semverCompare',
  ],
  [
    8,
    'title untitle swapcase snakecase kebabcase camelcase js split splitn b32enc adler32sum toDate mustToDate ' +
      'regexQuoteMeta',
  ],
]

const unitsOf = new Map(
  SLOW.flatMap(([units, names]) => names.split(' ').map((name) => [name, units] as const)),
)

/** Steps of one call, where it takes long for the shortest text. */
const DEAR: [number, string][] = [
  [
    10,
    'now date dateInZone date_in_zone htmlDate htmlDateInZone dateModify date_modify mustDateModify ' +
      'must_date_modify toDate mustToDate unixEpoch ago',
  ],
  [
    4,
    'fromJSON fromJson mustFromJson sha1sum sha256sum sha512sum adler32sum urlParse urlJoin uuidv4 randAlphaNum ' +
      'randAlpha randNumeric semverCompare split splitn regexMatch mustRegexMatch regexFind mustRegexFind ' +
      'regexFindAll mustRegexFindAll regexReplaceAll mustRegexReplaceAll regexReplaceAllLiteral ' +
      'mustRegexReplaceAllLiteral regexSplit mustRegexSplit',
  ],
]

const stepsOf = new Map(
  DEAR.flatMap(([steps, names]) => names.split(' ').map((name) => [name, steps] as const)),
)

/** Steps of one call of this function, beside those for its texts and lists. */
export function stepsPerCall(name: string): number {
  return stepsOf.get(name) ?? 1
}

/** UTF-16 units of its texts that a step pays for in this function. */
export function unitsPerStep(name: string): number {
  return unitsOf.get(name) ?? QUICK
}

/** Counts the text that a value became; a text already is one costs nothing. @returns the text */
export function paid(value: unknown, text: string, host: Host): string {
  if (typeof value === 'object') host.charge(1 + (text.length >> 7))
  return text
}
