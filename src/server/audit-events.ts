import type { ApprovalOutcome } from '../mcp/index.ts'
import type { DeniedClass } from '../net/index.ts'
import type { RedactionRecord, ReloadOutcome } from '../telemetry/metrics.ts'
import type { Outcome } from '../telemetry/outcome.ts'
import type { PinRecord } from '../upstream/index.ts'
import type { AuditedArguments } from './audited-arguments.ts'

/** Events of the audit log; docs/audit.md describes them. Each line also has `time` (ISO 8601, UTC). */
export type AuditEvent =
  | CallEvent
  | ({ event: 'login-failed'; reason: string; leftOut?: number } & Visitor)
  | ({ event: 'session-opened'; requestId: string } & SessionFacts)
  | ({ event: 'session-closed'; ms: number } & SessionFacts)
  | { event: 'reload'; outcome: ReloadOutcome; triggers: readonly string[]; ms?: number; refused?: string[] }
  | { event: 'change'; generation: number; added: string[]; changed: string[]; removed: string[] }
  | ({ event: 'rate-refused'; per: string; caller?: string; leftOut?: number } & Visitor)
  | { event: 'outbound-refused'; tenant: string; class: DeniedClass; host: string }
  | ({ event: 'pin-change' } & PinRecord)
  | ({ event: 'redacted'; leftOut?: number } & RedactionRecord)
  | { event: 'lines-dropped'; lines: number }

interface Visitor {
  /** Absent for the admin routes. */
  tenant?: string
  /** A prefix, or an admin path. */
  prefix: string
  /** Address of the client. */
  address?: string
}

interface Client {
  tenant: string
  prefix: string
  /** Name, if authenticated. */
  caller: string | undefined
  /** Address of the client. */
  address: string | undefined
}

interface SessionFacts extends Client {
  /** Distinguishes sessions; not the id, which would grant access. */
  session: string
}

export interface CallEvent extends Client, AuditedArguments {
  event: 'call' | 'denial'
  /** Reason of a denial. */
  reason: 'rule' | 'scope' | 'approval' | undefined
  outcome: Outcome
  /** MCP method. */
  method: string
  /** Name of the tool or prompt, or URI of the resource without its query. */
  name: string | undefined
  session: string | undefined
  /** Result of asking for approval. */
  approval: ApprovalOutcome | undefined
  requestId: string
  ms: number
}
