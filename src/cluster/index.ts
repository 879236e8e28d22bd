/** Several gateways that serve as one: what clients carry between them, and requests passed on to the right one. */

import { createForwarder, type Forwarder, type ForwarderOptions } from './forward.ts'
import { createHops, type Hops } from './hop.ts'
import { createTickets, type Tickets } from './tickets.ts'

export type { Forwarded, ForwardOutcome } from './forward.ts'
export { HOP_HEADER, PROOF_HEADER } from './hop.ts'
export type { Ticket, WaitingState } from './tickets.ts'

export interface ClusterSettings {
  /** At least 32 characters, the same in every replica. */
  secret: string
  /** The origin at which the other replicas reach this one. */
  advertise: string
}

/** One replica's part in the cluster. It holds connections: close it. */
export interface Cluster extends Tickets, Pick<Hops, 'receive'> {
  /** Where the other replicas reach this one. */
  readonly address: string
  forward: Forwarder['send']
  close(): Promise<void>
}

export function createCluster({ secret, advertise }: ClusterSettings, options: ForwarderOptions): Cluster {
  const hops = createHops(secret)
  const { send, close } = createForwarder(hops, options)
  return {
    ...createTickets(secret, advertise),
    address: advertise,
    receive: hops.receive,
    forward: send,
    close,
  }
}
