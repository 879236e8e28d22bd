import type { ApprovalOutcome } from '../mcp/index.ts'
import type { DeniedClass } from '../net/index.ts'
import type { RedactionRecord, ReloadOutcome } from '../telemetry/metrics.ts'
import type { Outcome } from '../telemetry/outcome.ts'
import type { PinRecord } from '../upstream/index.ts'
import type { AuditedArguments } from './audited-arguments.ts'

/** What the audit log has lines for; docs/audit.md says when. Each line has `time` (ISO 8601, UTC) besides. */
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
  /** Absent for the gateway's own pages. */
  tenant?: string
  /** Or a path of the gateway's own. */
  prefix: string
  /** Of the client. */
  address?: string
}

interface Client {
  tenant: string
  prefix: string
  /** By name, where callers are known. */
  caller: string | undefined
  /** Of the client. */
  address: string | undefined
}

interface SessionFacts extends Client {
  /** Tells sessions apart; not the id, with which its holder could go on with the session. */
  session: string
}

export interface CallEvent extends Client, AuditedArguments {
  event: 'call' | 'denial'
  /** Of a denial. */
  reason: 'rule' | 'scope' | 'approval' | undefined
  outcome: Outcome
  /** Of MCP. */
  method: string
  /** Of the tool or prompt, or the URI of the resource without its query. */
  name: string | undefined
  session: string | undefined
  /** What came of asking a person. */
  approval: ApprovalOutcome | undefined
  requestId: string
  ms: number
}
