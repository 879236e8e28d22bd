export { Cancellation, type CancelSignal } from '../net/index.ts'
