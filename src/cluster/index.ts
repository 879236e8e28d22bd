/** Several gateways that serve as one: what clients carry between them, and requests passed on to the right one. */

import { randomBytes } from 'node:crypto'
import { createForwarder, type Forwarder, type ForwarderOptions } from './forward.ts'
import { createHops, type Hops } from './hop.ts'
import { createMembers, type Members } from './members.ts'
import type { SealOptions } from './seal.ts'
import { createTickets, type Tickets } from './tickets.ts'

export type { Forwarded, ForwardOutcome } from './forward.ts'
export { HOP_HEADER, PROOF_HEADER } from './hop.ts'
export { FROM_HEADER, MEMBERS_HEADER, within } from './members.ts'
export { createSeal, type Seal } from './seal.ts'
export type { Ticket, WaitingState } from './tickets.ts'

export interface ClusterSettings {
  /** At least 32 characters, the same in every replica. */
  secret: string
  /** Is accepted besides, while the secret is being changed. */
  acceptedSecret?: string
  /** The origin at which the other replicas reach this one. */
  advertise: string
}

/** One replica's part in the cluster. It holds connections: close it. */
export interface Cluster extends Tickets, Pick<Hops, 'receive'>, Members {
  /** Where the other replicas reach this one. */
  readonly address: string
  forward: Forwarder['send']
  close(): Promise<void>
}

/**
 * What seals are made with: the secrets of the replicas, else one that nobody knows and that ends with the process.
 * @param cluster of the settings; absent: the gateway is alone
 */
export function secretsOf(
  cluster: { secret: string; acceptedSecret?: string | undefined } | undefined,
): readonly string[] {
  if (!cluster) return [randomBytes(32).toString('base64url')]
  const { secret, acceptedSecret } = cluster
  return acceptedSecret === undefined ? [secret] : [secret, acceptedSecret]
}

export function createCluster(
  { secret, acceptedSecret, advertise }: ClusterSettings,
  options: ForwarderOptions & Pick<SealOptions, 'onForeign'>,
): Cluster {
  const secrets = secretsOf({ secret, acceptedSecret })
  const hops = createHops(secrets)
  const { send, head, close } = createForwarder(hops, options)
  const { onForeign } = options
  const seal = { secrets, ...(onForeign && { onForeign }) }
  return {
    ...createTickets(seal, advertise),
    ...createMembers({ seal: { secrets }, address: advertise, head }),
    address: advertise,
    receive: hops.receive,
    forward: send,
    close,
  }
}
