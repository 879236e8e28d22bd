/** Small helpers that know nothing of the gateway: of text, and for long work in short turns. */

export { fold } from './fold.ts'
export { hiddenIn, withoutHidden } from './hidden.ts'
export { BETWEEN_TOKENS, ISSUED, LONGEST_KNOWN, replaceKnownSecrets } from './issued-tokens.ts'
export { lineStarts, type Position, positionsOf } from './lines.ts'
export { closest, isOneEdit, nearest } from './nearest.ts'
export { percentEncode, percentTable } from './percent.ts'
export {
  isCertainSecret,
  isSecretHeader,
  isSecretName,
  isSecretParameter,
  SECRET_KEY_END,
} from './secrets.ts'
export { atOnce, giveWay, giveWayToCalls, inTurns, nextTurn, type Steps, turnIsOver } from './turns.ts'
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
  wellFormed,
} from './words.ts'
