import type { Rates } from '../access/rate.ts'
import {
  type Configuration,
  DEFAULT_TENANT,
  type Limits,
  type Redact,
  type TenantSettings,
} from '../config/index.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import { credentialsFor } from '../credentials/credential.ts'
import type { LoginEvent } from '../credentials/oauth/server-login.ts'
import type { Vault } from '../credentials/oauth/vault.ts'
import type { AuditSink, CallLog } from '../mcp/index.ts'
import type { HttpClient } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type {
  CallRecord,
  RedactionRecord,
  SessionRecord,
  StreamRecord,
  UpstreamCallRecord,
  UpstreamSessionRecord,
} from '../telemetry/metrics.ts'
import type { Tracer } from '../telemetry/trace.ts'
import type { Memo } from '../template/index.ts'
import type { RedactedKind } from '../tools/mask.ts'
import type { CreateResilience, PinRecord, SharedServers } from '../upstream/index.ts'
import type { Outbound } from './outbound.ts'
import type { PinLocks } from './pin-lock.ts'
import { KnownIssuers } from './route-auth.ts'
import type { LinkContext, Prepared } from './types.ts'

export interface PrepareContext extends AssembleContext {
  /** Breaker and retry state of the replaced configuration, by key. */
  kept?: Prepared['resiliences']
  /** Contents of `plantgw.lock` files. */
  pins: PinLocks
}

/** Constant while configurations are compiled. */
export interface AssembleContext extends LinkContext {
  env: Readonly<Record<string, string | undefined>>
  limits: Limits
  http: HttpClient
  /** Guards of outbound connections, by tenant; absent where nothing is sent. */
  outbound?: Outbound
  log: Logger
  version: string
  /** Templates already compiled in the same run. */
  memo?: Memo
  onCall?: (call: CallRecord) => void
  onSession?: (session: SessionRecord) => void
  /** Called after every request to an MCP server, and every session with one. */
  onUpstreamCall?: (call: UpstreamCallRecord) => void
  onUpstreamSession?: (session: UpstreamSessionRecord) => void
  /** Called for every event stream of an MCP server that is lost or regained. */
  onStream?: (record: StreamRecord) => void
  /** Called for every approval request to a 2026-07-28 client that was not answered. */
  onUnanswered?: CallLog['onUnanswered']
  /** Writes the audit log; absent: none. */
  auditSink?: AuditSink
  /** Remembers calls for the console; absent: none. */
  recorder?: CallLog['recorder']
  /** Records traces; absent: tracing is off. */
  tracer?: Tracer | undefined
  /** Called for every change of an MCP server's declarations since it was pinned. */
  onPinChange?: (change: PinRecord) => void
  /** Called for secrets removed from an answer. */
  onRedacted?: (record: RedactionRecord) => void
  /** Default for servers without `redact`. */
  redact?: Redact | undefined
  /** Tenants, whose credentials open their routers. */
  tenants?: readonly TenantSettings[]
  /** `publicUrl` of the settings. */
  publicUrl?: string
  /** Logins; absent: there are none. */
  vault?: Vault | undefined
  /** Called with what becomes of logins. */
  onLogin?: ((event: LoginEvent) => void) | undefined
  /** Known authorization servers; absent where nothing is served. */
  issuers?: KnownIssuers
  /** Counts requests; absent where nothing is served. */
  rates?: Rates
  /** Creates the retry and breaker state of a server; absent where nothing is served. */
  createResilience?: CreateResilience
  /** Secrets that seal state which clients carry; absent where nothing is served. */
  sealSecrets?: readonly string[]
  /** The MCP servers that proxies share; absent where nothing is served. */
  servers?: SharedServers
}

/** Limits and permissions of a tenant's configurations, and state that outlives one assembly. */
interface Contexts {
  context: OwnContext
  lasting: PlaceContext
}

/** By tenant, as thousands of configurations share one. */
const contexts = new WeakMap<PrepareContext, Map<string, Contexts>>()

export function contextFor({ tenant }: Configuration, given: PrepareContext): Contexts {
  const ofTenants = contexts.get(given) ?? new Map<string, Contexts>()
  contexts.set(given, ofTenants)
  const known = ofTenants.get(tenant)
  if (known) return known
  const context = contextOf(tenant, given)
  const { createProxy: _, proxies: __, kept: ___, memo: ____, ...lasting } = context
  const made = { context, lasting }
  ofTenants.set(tenant, made)
  return made
}

function contextOf(tenant: string, given: PrepareContext) {
  const own = tenant === DEFAULT_TENANT ? undefined : given.tenants?.find(({ name }) => name === tenant)
  const guards = given.outbound?.guardsOf(tenant)
  const { issuers = new KnownIssuers(given), onRedacted, vault, publicUrl, onLogin } = given
  return {
    ...given,
    issuers,
    credentialsOf: credentialsFor({ ...issuers.parts, guards, vault, publicUrl, onLogin }),
    env: envOfTenant(given.env, tenant, given.tenants),
    limits: { ...given.limits, ...own?.limits },
    redact: own?.redact ?? given.redact,
    /** The listener for secrets found in a server's answers. */
    redactionsOf: (server: string) => (kind: RedactedKind, count: number) =>
      onRedacted?.({ tenant, server, kind, count }),
    guards,
    readsFiles: readsFiles(tenant, given.tenants),
    /** Environment that gives child processes `PATH` and the like. */
    processEnv: given.env,
  }
}

export type OwnContext = ReturnType<typeof contextOf>

/** Without the parts that change at each reload: listings are linked again. */
export type PlaceContext = Omit<OwnContext, keyof LinkContext | 'kept' | 'memo'>

/** Whether a tenant's configurations may name files, which are read as the gateway's user. */
export function readsFiles(tenant: string, tenants: readonly TenantSettings[] | undefined): boolean {
  return tenant === DEFAULT_TENANT || !tenants
}
