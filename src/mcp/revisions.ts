/** Revisions with a handshake and, over HTTP, a session; newest first. */
export const SESSION_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
/** Revisions in which every request stands alone; newest first. */
export const STATELESS_REVISIONS = ['2026-07-28'] as const

export const REVISIONS = [...STATELESS_REVISIONS, ...SESSION_REVISIONS] as const

export type SessionRevision = (typeof SESSION_REVISIONS)[number]
export type Revision = (typeof REVISIONS)[number]

export function isSessionRevision(version: unknown): version is SessionRevision {
  return SESSION_REVISIONS.includes(version as SessionRevision)
}

export function isStatelessRevision(version: unknown): boolean {
  return STATELESS_REVISIONS.includes(version as (typeof STATELESS_REVISIONS)[number])
}

/** JSON-RPC batches: allowed in 2025-03-26 and before, removed in 2025-06-18. */
export function allowsBatches(revision: SessionRevision): boolean {
  return revision <= '2025-03-26'
}

/** The revision a session gets when the client asks for `version` (2025-11-25, basic/lifecycle). */
export function negotiate(version: string): SessionRevision {
  return isSessionRevision(version) ? version : SESSION_REVISIONS[0]
}
