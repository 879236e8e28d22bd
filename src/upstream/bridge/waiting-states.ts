import type { HttpResponse } from '../../access/http-response.ts'
import type { JsonObject } from '../../json/index.ts'
import {
  digestOfRequest,
  errorText,
  isObject,
  json,
  type Replicas,
  type Request,
  type RequestId,
  UNKNOWN_STATE,
} from '../../mcp/index.ts'
import type { Stateless, UpstreamCall } from '../backend/stateless.ts'

/** Digest of caller, template values, method and parameters (2026-07-28, Server Requirements). */
export function boundTo({ message, caller, resolved }: UpstreamCall): string {
  return digestOfRequest(message, [caller ?? null, resolved.key])
}

/**
 * Routes a continued call to the replica in its `requestState`: returns the request for the server, or the answer of
 * that replica.
 * @param text of the request as received
 */
export async function resumed(
  replicas: Replicas,
  request: Request,
  text: string,
): Promise<Request | HttpResponse> {
  const { requestState } = request.params
  if (requestState === undefined) return request
  const waiting = replicas.unseal(String(requestState))
  if (!waiting) return unknown(request.id)
  const { owner, state } = waiting
  if (!replicas.isOwn(owner)) return (await replicas.forward(owner, text, request.id)) ?? unknown(request.id)
  const params = { ...request.params, requestState: state }
  return { ...request, params, raw: { ...request.raw, params } }
}

function unknown(id: RequestId): HttpResponse {
  return json(errorText(id, UNKNOWN_STATE))
}

/** The server with waiting calls that every replica can find. */
export function withStates(server: Stateless, replicas: Replicas): Stateless {
  return {
    versions: (resolved) => server.versions(resolved),
    paramHeaders: (tool, call) => server.paramHeaders(tool, call),
    async request(call) {
      const raw = await server.request(call)
      if (!raw || !('result' in raw) || !isObject(raw.result)) return raw
      const { resultType, requestState } = raw.result
      if (resultType !== 'input_required' || typeof requestState !== 'string') return raw
      const result: JsonObject = { ...raw.result, requestState: replicas.seal(requestState) }
      return { ...raw, result }
    },
  }
}
