/** Small helpers that know nothing of the gateway: of text, and for long work in short turns. */

export { fold } from './fold.ts'
export { groupBy } from './group-by.ts'
export { hiddenIn, withoutHidden } from './hidden.ts'
export { BETWEEN_TOKENS, ISSUED, knownSecrets, LONGEST_KNOWN, type SecretKind } from './issued-tokens.ts'
export { lineStarts, type Position, positionsOf } from './lines.ts'
export { isJsonType } from './media-type.ts'
export { type Comparisons, comparisons, isOneEdit, nearest, proposal } from './nearest.ts'
export { notText } from './not-text.ts'
export { atOnce, inTurns, mapped, PIECE, paced, pause, pauseFor, type Steps } from './pause.ts'
export { percentEncode, percentTable } from './percent.ts'
export { printableJson } from './printable-json.ts'
export { pathOf } from './request-target.ts'
export {
  isCertainSecret,
  isSecretHeader,
  isSecretName,
  isSecretParameter,
  SECRET_KEY_END,
} from './secrets.ts'
export { shellWord, shellWords } from './shell-words.ts'
export { wildcards } from './wildcards.ts'
export {
  capital,
  cut,
  lowerFirst,
  quote,
  quoteAll,
  shorten,
  sizeText,
  timeText,
  tokensIn,
  wellFormed,
} from './words.ts'
