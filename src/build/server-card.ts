import { createHash } from 'node:crypto'
import { endpointPath, type Router } from '../config/index.ts'
import type { JsonObject } from '../json/index.ts'
import { REVISIONS } from '../mcp/index.ts'
import type { Access, PublicDocument } from './types.ts'

const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'

/**
 * How a prefix is presented to the public (SEP-2127): who it is, where it is, and which headers it needs. It lists no
 * tools: which of them a caller may see is up to the rules.
 * @param publicUrl without a slash at its end
 */
export function serverCard({ card, prefix, ssePrefix = prefix }: Router, access: Access, publicUrl: string) {
  if (!card) return undefined
  const { name, version, description, title, websiteUrl } = card
  const headers = access === 'token' ? { headers: [AUTHORIZATION] } : {}
  return {
    $schema: CARD_SCHEMA,
    name,
    version,
    description,
    ...(title !== undefined && { title }),
    ...(websiteUrl !== undefined && { websiteUrl }),
    remotes: [
      {
        type: 'streamable-http',
        url: publicUrl + endpointPath(prefix, 'mcp'),
        ...headers,
        supportedProtocolVersions: [...REVISIONS],
      },
      { type: 'sse', url: publicUrl + endpointPath(ssePrefix, 'sse'), ...headers },
    ],
  } satisfies JsonObject
}

/** A value that a client asks its user for. */
const AUTHORIZATION: JsonObject = {
  name: 'Authorization',
  description: 'Bearer token of the gateway',
  isRequired: true,
  isSecret: true,
  value: 'Bearer {token}',
  variables: { token: { description: 'Bearer token of the gateway', isRequired: true, isSecret: true } },
}

/** The card as it is served at `{prefix}/mcp/server-card`. */
export function cardDocument(card: JsonObject): PublicDocument {
  const text = JSON.stringify(card)
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  return { text, type: 'application/mcp-server-card+json', etag, cacheControl: 'public, max-age=3600' }
}
