import { createHmac, randomBytes } from 'node:crypto'
import { attackerOf, type RefusedCredentials } from '../access/authentication.ts'
import { Buckets } from '../access/buckets.ts'
import type { RateRefusal } from '../access/limits-steps.ts'
import { RETRY_AFTER } from '../access/refusals.ts'
import type { Step } from '../access/steps.ts'
import type { OutboundRefusal } from '../build/outbound.ts'
import type { Reload } from '../build/types.ts'
import type { AuditSettings } from '../config/index.ts'
import type { LoginEvent } from '../credentials/oauth/server-login.ts'
import { canonicalText, isObject, type Json, type JsonObject, masked, stringify } from '../json/index.ts'
import {
  type ApprovalOutcome,
  type AuditSink,
  type CallLog,
  type LoggedRequest,
  type Request,
  type RequestContext,
  sessionName,
  shownUri,
} from '../mcp/index.ts'
import type { DeniedClass } from '../net/index.ts'
import { AuditLog } from '../telemetry/audit-log.ts'
import type { Logger } from '../telemetry/log.ts'
import type { RedactionRecord, ReloadOutcome } from '../telemetry/metrics.ts'
import type { Outcome } from '../telemetry/outcome.ts'
import { seldom } from '../telemetry/seldom.ts'
import { printableJson, shorten } from '../text/index.ts'
import type { PinRecord } from '../upstream/index.ts'
import type { Edit } from './console/request.ts'
import type { OnReload } from './reloads.ts'

/** Receives the events of the audit log. It holds a file, so close it. */
export interface Audit {
  readonly auditSink: AuditSink
  /** With `fail: closed`: refuses requests whose lines could not be written. */
  readonly step: Step | undefined
  onRefusedCredentials(refused: RefusedCredentials): void
  onRateRefused(refusal: RateRefusal): void
  onOutboundRefusal(refusal: OutboundRefusal): void
  onPinChange(record: PinRecord): void
  onLogin(event: LoginEvent): void
  onRedacted(record: RedactionRecord): void
  onEdit(edit: Edit): void
  onReload: OnReload
  /** Records the configurations served from the start. */
  onStart(loaded: Reload): void
  close(): Promise<void>
}

interface AuditParts {
  log: Logger
  onDropped: () => void
  tenantOf: (prefix: string) => string | undefined
}

/** Minimum milliseconds between two lines about one client beyond a limit. */
const EVERY = 60_000
/** Maximum lines in that time about refused credentials of one client, for one reason. */
const MAX_LOGINS = 30

/** Opens the audit log; if it cannot be written, that is reported and retried. */
export async function openAudit(settings: AuditSettings, parts: AuditParts): Promise<Audit> {
  const { to, path, fail } = settings
  const { log, onDropped, tenantOf } = parts
  const droppedLine = (lines: number) => lineOf({ event: 'lines-dropped', lines })
  const file = new AuditLog({ to, ...(path !== undefined && { path }), log, onDropped, droppedLine })
  await file.open()
  const write = (event: AuditEvent) => file.write(lineOf(event))
  const visitorOf = ({ prefix, address }: Pick<RateRefusal, 'prefix' | 'address'>) => {
    const tenant = tenantOf(prefix)
    return {
      ...(tenant !== undefined && { tenant }),
      prefix: prefix || '/',
      ...(address !== undefined && { address }),
    }
  }
  // For refusals that no other limit bounds, such as expired tokens.
  const logins = new Buckets({ interval: EVERY / MAX_LOGINS, burst: MAX_LOGINS })
  // One line for each limited request would fill the disk.
  const sayLimited = seldom(EVERY, (refused: RefusedCredentials, left) =>
    write({ event: 'login-failed', ...visitorOf(refused), reason: refused.reason, ...left }),
  )
  const sayRate = seldom(EVERY, ({ per, caller, ...refusal }: RateRefusal, left) =>
    write({
      event: 'rate-refused',
      ...visitorOf(refusal),
      ...(caller !== undefined && { caller }),
      per,
      ...left,
    }),
  )
  // A server may repeat a secret in every answer.
  const sayRedacted = seldom(EVERY, (record: RedactionRecord, left) =>
    write({ event: 'redacted', ...record, ...left }),
  )
  return {
    auditSink: createAuditSink(settings, write),
    step: fail === 'closed' ? auditStep(file) : undefined,
    onRefusedCredentials(refused) {
      // Clients begin without credentials to discover how to authenticate.
      if (refused.reason === 'missing') return
      const attacker = attackerOf(refused)
      if (refused.reason === 'limited' || logins.wait(attacker) > 0) return sayLimited(attacker, refused)
      logins.add(attacker)
      write({ event: 'login-failed', ...visitorOf(refused), reason: refused.reason })
    },
    onRateRefused(refusal) {
      const { prefix, per, caller, address } = refusal
      sayRate(JSON.stringify([prefix, per, caller ?? address]), refusal)
    },
    onOutboundRefusal: (refusal) => write({ event: 'outbound-refused', ...refusal }),
    onLogin: (event) => write({ event: 'login', ...event }),
    onPinChange: (record) => write({ event: 'pin-change', ...record, name: shorten(record.name, 200) }),
    onRedacted: (record) => sayRedacted(JSON.stringify([record.tenant, record.server, record.kind]), record),
    onEdit: (edit) => write({ event: 'edit', ...edit }),
    onReload(triggers, outcome, made) {
      if (!made) return write({ event: 'reload', outcome, triggers })
      const { ms, refused } = made
      write({ event: 'reload', outcome, triggers, ms, refused })
      writeChange(made, write)
    },
    onStart: (loaded) => writeChange(loaded, write),
    close: () => file.close(),
  }
}

function lineOf(event: AuditEvent): string {
  return `{"time":"${timeText(Date.now())}",${printableJson(stringify(event)).slice(1)}`
}

let last = { second: -1, text: '' }

function timeText(time: number): string {
  const second = Math.floor(time / 1000)
  if (second !== last.second)
    last = { second, text: new Date(second * 1000).toISOString().slice(0, -'000Z'.length) }
  return `${last.text}${String(time - second * 1000).padStart(3, '0')}Z`
}

type Change = Pick<Reload, 'generation' | 'added' | 'changed' | 'removed'>

function writeChange({ generation, added, changed, removed }: Change, write: (event: AuditEvent) => void) {
  if (added.length + changed.length + removed.length)
    write({ event: 'change', generation, added, changed, removed })
}

function auditStep(file: AuditLog): Step {
  return {
    name: 'audit',
    run: async () =>
      file.isStuck
        ? {
            status: 503,
            message:
              'The gateway refuses requests because it cannot write its audit log (audit.fail: closed): try again later',
            headers: { 'retry-after': RETRY_AFTER },
          }
        : undefined,
  }
}

function createAuditSink(settings: AuditSettings, write: (event: AuditEvent) => void): AuditSink {
  const tell = argumentsTeller(settings)
  return {
    call(call, { outcome, denied: reason }, ms) {
      const { method, params } = call.request
      const { approval } = call
      const event = callEvent(call, { event: reason ? 'denial' : 'call', reason, outcome, ms, approval })
      const isTold = tell && WITH_ARGUMENTS.has(method) && isObject(params.arguments)
      write(isTold ? { ...event, ...tell(params.arguments as JsonObject) } : event)
    },
    asked(call) {
      const since = performance.now()
      // The arguments are in the line of the question, which has the same `requestId`.
      const event = callEvent(call, {
        event: 'denial',
        reason: 'approval',
        outcome: 'refused',
        ms: 0,
        approval: 'timeout',
      })
      return () => write({ ...event, ms: tenths(performance.now() - since) })
    },
    session(id, callLog, context) {
      const facts = { ...clientOf(callLog, context), session: sessionName(id) }
      const since = performance.now()
      write({ event: 'session-opened', ...facts, requestId: context.requestId })
      return () => write({ event: 'session-closed', ...facts, ms: tenths(performance.now() - since) })
    },
  }
}

/** The caller, the request and its result; keeps no reference to the request. */
function callEvent(
  { request, callLog, context, sessionId }: LoggedRequest,
  {
    event,
    reason,
    outcome,
    ms,
    approval,
  }: Pick<CallEvent, 'event' | 'reason' | 'outcome' | 'ms' | 'approval'>,
): CallEvent {
  const name = nameOf(request)
  const { caller, callerName = caller, address, requestId } = context
  return {
    event,
    reason,
    outcome,
    tenant: callLog.tenant,
    prefix: callLog.prefix,
    caller: callerName,
    address,
    method: shorten(request.method, 200),
    name: name && shorten(name, 200),
    session: sessionId && sessionName(sessionId),
    requestId,
    ms: tenths(ms),
    approval,
  }
}

const WITH_ARGUMENTS = new Set(['tools/call', 'prompts/get'])

function clientOf({ tenant, prefix }: CallLog, context: RequestContext) {
  const { caller, callerName = caller, address } = context
  return { tenant, prefix, caller: callerName, address }
}

function nameOf({ method, params }: Request): string | undefined {
  const about = method === 'completion/complete' && isObject(params.ref) ? params.ref : params
  if (typeof about.uri === 'string') return shownUri(about.uri)
  return typeof about.name === 'string' ? about.name : undefined
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** Events of the audit log; docs/audit.md describes them. Each line also has `time` (ISO 8601, UTC). */
type AuditEvent =
  | CallEvent
  | ({ event: 'login-failed'; reason: string; leftOut?: number } & Visitor)
  | ({ event: 'session-opened'; requestId: string } & SessionFacts)
  | ({ event: 'session-closed'; ms: number } & SessionFacts)
  | { event: 'reload'; outcome: ReloadOutcome; triggers: readonly string[]; ms?: number; refused?: string[] }
  | { event: 'change'; generation: number; added: string[]; changed: string[]; removed: string[] }
  | ({ event: 'rate-refused'; per: string; caller?: string; leftOut?: number } & Visitor)
  | { event: 'outbound-refused'; tenant: string; class: DeniedClass; host: string }
  | ({ event: 'pin-change' } & PinRecord)
  | ({ event: 'login' } & LoginEvent)
  | ({ event: 'edit' } & Edit)
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

interface CallEvent extends Client, AuditedArguments {
  event: 'call' | 'denial'
  /** Reason of a denial. */
  reason: 'rule' | 'scope' | 'approval' | 'login' | undefined
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

/** A call's arguments in the audit log. */
interface AuditedArguments {
  /** Names of the arguments: with `names`, and instead of oversized values. */
  argumentNames?: string[]
  /** With `hash`: HMAC-SHA256 of the canonical JSON, in hexadecimal. */
  argumentsHash?: string
  /** With `full`: the values, with secrets masked. */
  arguments?: Json
  /** Bytes of oversized values. */
  argumentsSize?: number
}

/** @returns a function from arguments to their part of a line; undefined: nothing is logged */
function argumentsTeller({
  args,
  secret,
}: Pick<AuditSettings, 'args' | 'secret'>): ((given: JsonObject) => AuditedArguments) | undefined {
  if (args === 'none') return undefined
  if (args === 'names') return namesOf
  if (args === 'full') return valuesOf
  // Without a key, guessable values such as customer ids could be found by hashing candidates.
  const key = secret ?? randomBytes(32)
  return (given) => ({
    argumentsHash: createHmac('sha256', key).update(canonicalText(given)).digest('hex'),
  })
}

function namesOf(given: JsonObject): AuditedArguments {
  const names = Object.keys(given).slice(0, 64)
  return { argumentNames: names.map((name) => shorten(name, 100)) }
}

function valuesOf(given: JsonObject): AuditedArguments {
  const values = masked(given)
  const argumentsSize = Buffer.byteLength(stringify(values))
  return argumentsSize > 16 * 1024 ? { ...namesOf(given), argumentsSize } : { arguments: values }
}
