import type { Hono } from 'hono'
import type { Table } from '../../build/types.ts'
import type { JsonObject } from '../../json/index.ts'
import type { DeclaredList, ServerChildren } from '../../upstream/index.ts'
import type { CallHistory, Recorder } from '../recorder.ts'
import { ask, type OwnRequest } from './own-client.ts'

/** The questions of the console to this process, or to all workers. */
export interface ConsoleSource extends CallHistory {
  /** Sends a request as a client does, in one of the processes. @returns the JSON-RPC response, or a refusal */
  ask(request: OwnRequest): Promise<JsonObject>
  /** Processes of the MCP servers behind a prefix of the table. */
  children(prefix: string): Promise<readonly ServerChildren[]>
  /** Asks these servers for their lists. */
  declared(prefix: string): Promise<readonly DeclaredList[]>
}

/** Answers the questions of the console in this process. @param base URL of the gateway for clients */
export function ownSource(
  recorder: Recorder,
  { app, base, table }: { app: () => Hono; base: string; table: () => Table },
): ConsoleSource {
  const proxyAt = (prefix: string) => table().routes.get(prefix)?.proxy?.proxy
  return {
    recorded: () => recorder.recorded(),
    recordedCall: (id) => recorder.recordedCall(id),
    follow: (listener) => recorder.follow(listener),
    ask: (request) => ask(app(), base, request),
    children: async (prefix) => proxyAt(prefix)?.children() ?? [],
    declared: async (prefix) => (await proxyAt(prefix)?.declared()) ?? [],
  }
}
