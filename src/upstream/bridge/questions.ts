import { errorText, INTERNAL_ERROR, type RequestId } from '../../mcp/index.ts'
import type { Response } from '../rpc/link.ts'

/** Questions of a server that wait for the client's answer, in one session or one call. */
export const MAX_QUESTIONS = 64

/** What a server is answered that asks more, in the client's place. */
export function tooMany(id: RequestId): [message: Response, text: string] {
  const error = { code: INTERNAL_ERROR, message: 'Too many requests wait for the client' }
  return [{ kind: 'response', id, raw: { jsonrpc: '2.0', id: id as string, error } }, errorText(id, error)]
}
