/** Small helpers that know nothing of the gateway: of text, and for long work in short turns. */

export { hiddenIn, notText, printable, printableJson, printableLines, withoutHidden } from './hidden.ts'
export {
  BETWEEN_TOKENS,
  ISSUED,
  knownSecrets,
  LONGEST_KNOWN,
  type SecretKind,
  SHOWN,
  withoutKnown,
} from './issued-tokens.ts'
export { lazy } from './lazy.ts'
export { lineStarts, type Position, positionsOf } from './lines.ts'
export { groupBy, RecentMap, repeats } from './maps.ts'
export { type Comparisons, comparisons, isOneEdit, nearest, proposal } from './nearest.ts'
export { atOnce, inTurns, mapped, PIECE, paced, pause, pauseFor, type Steps } from './pause.ts'
export {
  isCertainSecret,
  isSameSecret,
  isSecretHeader,
  isSecretName,
  isSecretParameter,
  SECRET_KEY_END,
} from './secrets.ts'
export { shellWord, shellWords } from './shell-words.ts'
export {
  deepPairs,
  isJsonType,
  type ParameterStyle,
  pathOf,
  percentDecoded,
  percentEncode,
  percentTable,
  styled,
  withoutEndSlashes,
} from './urls.ts'
export { wildcards } from './wildcards.ts'
export { within } from './within.ts'
export {
  canonicalHeader,
  capital,
  counted,
  cut,
  firstOf,
  fold,
  isIdentifier,
  lowerFirst,
  numberText,
  plural,
  quote,
  quoteAll,
  quoteSome,
  shorten,
  sizeText,
  timeText,
  tokensIn,
  wellFormed,
} from './words.ts'
