/** Small helpers that know nothing of the gateway: of text, and for long work in short turns. */
export { closest, isOneEdit, nearest, oneEditAway } from './nearest.ts'
export { percentEncode, percentTable } from './percent.ts'
export {
  isCertainSecret,
  isSecretHeader,
  isSecretName,
  isSecretParameter,
  SECRET_KEY_END,
} from './secrets.ts'
export { giveWay, nextTurn, turnIsOver } from './turns.ts'
export { capital, cut, quote, quoteAll, shorten, sizeText, timeText, wellFormed } from './words.ts'
