/** What sentences are made of; knows nothing of the gateway. */
export { closest, nearest } from './nearest.ts'
export { capital, cut, quote, quoteAll, shorten, sizeText, timeText, wellFormed } from './words.ts'
