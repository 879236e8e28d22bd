import { AUTHORIZATION, LIMITS, OUTBOUND, PAGES, PLANTS, TLS } from './access.ts'
import { LOGIN } from './login.ts'
import { HTTP, MESSAGES } from './messages.ts'
import type { Chapter } from './refusal.ts'

/** Every refusal that a client can meet: what the tests send, and what `docs/refusals.md` shows. */
export const CHAPTERS: readonly Chapter[] = [
  HTTP,
  LOGIN,
  MESSAGES,
  AUTHORIZATION,
  OUTBOUND,
  LIMITS,
  PAGES,
  PLANTS,
  TLS,
]
