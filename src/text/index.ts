/** What sentences are made of; knows nothing of the gateway. */
export { closest, nearest } from './nearest.ts'
export {
  isCertainSecret,
  isSecretHeader,
  isSecretName,
  isSecretParameter,
  SECRET_KEY_END,
} from './secrets.ts'
export { capital, cut, quote, quoteAll, shorten, sizeText, timeText, wellFormed } from './words.ts'
