import { errorAnswer } from '../answer.ts'
import type { Middleware } from '../call.ts'
import { checkParamHeaders, mismatch } from './mirror.ts'

/** Refuses arguments that differ from the headers that repeat them (2026-07-28, Custom Headers from Tool Parameters). */
export const mirroredHeaders: Middleware = async (call, next) => {
  const { context, request } = call
  const fault = checkParamHeaders(context.headers, await call.paramHeaders(), request.params.arguments)
  return fault === undefined ? next() : errorAnswer(call, mismatch(fault))
}
