import assert from 'node:assert/strict'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'

const info = { name: 'soak', version: '1.0.0' }
/** Calls of strangers go by their connection, which clients of one process share; so they are of somebody known. */
export const TOKEN = 'soak-0123456789abcdef'
const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } }

/** A client of the official SDK that calls the tool `work` of one endpoint. */
export interface Worker {
  /** The text of one call; throws what the SDK throws, and on a tool's error. */
  work(): Promise<string>
  /** Times that it was told that its tools changed. */
  told(): number
  sessionId(): string | undefined
  close(): Promise<void>
}

/** With a session, by the 1.x SDK. */
export async function sessionWorker(url: string): Promise<Worker> {
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
  const client = new Client(info)
  let told = 0
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    told++
  })
  await client.connect(transport as never)
  return {
    work: async () => textOf(await client.callTool({ name: 'work', arguments: {} })),
    told: () => told,
    sessionId: () => transport.sessionId,
    close: () => client.close(),
  }
}

/** Of 2026-07-28, by the 2.x SDK. */
export async function statelessWorker(url: string, headers = requestInit.headers): Promise<Worker> {
  const client = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new ModernHttp(new URL(url), { requestInit: { headers } }))
  return {
    work: async () => textOf(await client.callTool({ name: 'work', arguments: {} })),
    told: () => 0,
    sessionId: () => undefined,
    close: () => client.close(),
  }
}

function textOf(result: unknown): string {
  const { isError, content } = result as { isError?: boolean; content: { text: string }[] }
  assert.ok(!isError, JSON.stringify(result))
  return content[0]!.text
}
