import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
  SSEClientTransport as ModernSse,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { looseObject } from 'zod'
import type { Command } from '../../fixtures/program.ts'
import { type Recording, tap } from './record.ts'

/** Of the client; `2.x modern` speaks 2026-07-28, the others 2025-11-25. */
export type Generation = '1.x' | '2.x' | '2.x modern'

/** Where a server is: a program, or a URL that ends with `/mcp` or `/sse`. */
export type Target = Command | string

export interface Connected extends Recording {
  /** Rejections are recorded as messages like every answer, so that they are no concern of the caller. */
  request(method: string, params?: Record<string, unknown>, withProgress?: boolean): Promise<void>
  close(): Promise<void>
}

const ANYTHING = looseObject({})
const INFO = { name: 'comparison', version: '1.0.0' }
const CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } }

function answers(root: string) {
  return {
    sampling: () => ({
      model: 'none',
      role: 'assistant' as const,
      content: { type: 'text' as const, text: 'sampled' },
    }),
    elicitation: () => ({ action: 'accept' as const, content: { name: 'Ada', color: 'green', check: true } }),
    roots: () => ({ roots: [{ uri: `file://${root}`, name: 'root' }] }),
  }
}

/** Connects a client of one generation that answers all that a server asks; `root` is its only root. */
export function connect(generation: Generation, target: Target, root: string): Promise<Connected> {
  if (generation === '1.x') return connectFirst(target, root)
  return connectSecond(target, root, generation === '2.x' ? 'legacy' : { pin: '2026-07-28' })
}

async function connectFirst(target: Target, root: string): Promise<Connected> {
  const transport =
    typeof target !== 'string'
      ? new StdioClientTransport({ ...target, stderr: 'ignore' })
      : target.endsWith('/sse')
        ? new SSEClientTransport(new URL(target))
        : new StreamableHTTPClientTransport(new URL(target))
  const recording = tap(transport)
  const client = new Client(INFO, { capabilities: CAPABILITIES })
  const { sampling, elicitation, roots } = answers(root)
  client.setRequestHandler(CreateMessageRequestSchema, sampling)
  client.setRequestHandler(ElicitRequestSchema, elicitation)
  client.setRequestHandler(ListRootsRequestSchema, roots)
  await client.connect(transport as never)
  return {
    ...recording,
    async request(method, params, withProgress) {
      const options = withProgress ? { onprogress() {} } : {}
      await client
        .request({ method, ...(params && { params }) } as never, ResultSchema, options)
        .catch(() => {})
    },
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
      await client.close()
    },
  }
}

async function connectSecond(
  target: Target,
  root: string,
  mode: 'legacy' | { pin: string },
): Promise<Connected> {
  const transport =
    typeof target !== 'string'
      ? new ModernStdio({ ...target, stderr: 'ignore' })
      : target.endsWith('/sse')
        ? new ModernSse(new URL(target))
        : new ModernHttp(new URL(target))
  const recording = tap(transport)
  const client = new ModernClient(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode } })
  const { sampling, elicitation, roots } = answers(root)
  client.setRequestHandler('sampling/createMessage', sampling)
  client.setRequestHandler('elicitation/create', elicitation)
  client.setRequestHandler('roots/list', roots)
  await client.connect(transport)
  return {
    ...recording,
    async request(method, params, withProgress) {
      const options = withProgress ? { onprogress() {} } : {}
      await client.request({ method, ...(params && { params }) }, ANYTHING, options).catch(() => {})
    },
    async close() {
      if (transport instanceof ModernHttp) await transport.terminateSession()
      await client.close()
    },
  }
}
