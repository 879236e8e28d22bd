import { createHash, randomBytes } from 'node:crypto'
import { createForwarder, type Forwarder, type ForwarderOptions } from './forward.ts'
import { createHops } from './hop.ts'
import { createMembers, type Members, type MembersOptions } from './members.ts'
import type { SealOptions } from './seal.ts'
import { createTickets, type Tickets } from './tickets.ts'

export interface ClusterSettings {
  /** At least 32 characters, the same in every replica. */
  secret: string
  /** Is accepted besides, while the secret is being changed. */
  acceptedSecret?: string
  /** The origin at which the other replicas reach this one. */
  advertise: string
}

/** Divides the address of a gateway from that of one of its workers. */
const OF = '#'

/** The address of a worker, by that of its gateway and where its fellows reach it. */
export function workerAddress(gateway: string, origin: string): string {
  return gateway + OF + origin
}

/** The gateway part of an owner's address. */
function gatewayOf(owner: string): string {
  return owner.split(OF)[0] as string
}

/** Length of an address's mark, enough for the few replicas and workers of a gateway. */
const MARK = 4

/** A fingerprint of 8 characters that names a replica and its worker. */
export function markOf(owner: string): string {
  return shortOf(gatewayOf(owner)) + shortOf(owner)
}

/** Whether a mark is of this address, or of a worker behind it. */
export function isMarkOf(mark: string, address: string): boolean {
  const short = shortOf(address)
  return mark.slice(MARK) === short || mark.slice(0, MARK) === short
}

function shortOf(address: string): string {
  return createHash('sha256').update(address).digest('base64url').slice(0, MARK)
}

/** Sender of a forwarded request: a worker of this gateway, or another gateway. */
type PassedBy = 'worker' | 'replica'

/** The replicas and workers to which this process may forward a request; they depend on the sender. */
export interface Reach {
  /** Whether the request was forwarded already, so it is not forwarded again. */
  isForwarded: boolean
  isWithin(owner: string): boolean
  /** All of them. */
  others(): string[]
}

/** One replica's part in the cluster. It holds connections: close it. */
export interface Cluster extends Tickets, Omit<Members, 'others'> {
  /** Where the other replicas reach this one. */
  readonly address: string
  /** Recognizes a request that was passed on; no `proof`: to another replica; undefined: the header is not of a replica. */
  receive(header: string, method: string, target: string): { proof?: string; by: PassedBy } | undefined
  /** @param by who has passed a request on; undefined: it is its client's own */
  reach(by: PassedBy | undefined): Reach
  /** Whether this is the address of a worker of this gateway; absent: there are no workers. */
  isWorker?(owner: string): boolean
  /** The address of the worker that owns a key; absent: there are no workers. */
  placeOf?(key: string): string
  forward: Forwarder['send']
  close(): Promise<void>
}

/**
 * Secrets for seals: those of the replicas, else a random one for the life of the process.
 * @param cluster of the settings; absent: the gateway is alone
 */
export function sealSecretsOf(
  cluster: { secret: string; acceptedSecret?: string | undefined } | undefined,
): readonly string[] {
  if (!cluster) return [randomBytes(32).toString('base64url')]
  const { secret, acceptedSecret } = cluster
  return acceptedSecret === undefined ? [secret] : [secret, acceptedSecret]
}

export function createCluster(
  { secret, acceptedSecret, advertise }: ClusterSettings,
  options: ForwarderOptions & Pick<SealOptions, 'onForeign'> & Pick<MembersOptions, 'onMet'>,
): Cluster {
  const secrets = sealSecretsOf({ secret, acceptedSecret })
  const hops = createHops(secrets, advertise)
  const { send, head, close } = createForwarder(hops, options)
  const { onForeign, onMet } = options
  const seal = { secrets, ...(onForeign && { onForeign }) }
  const { others, ...members } = createMembers({ seal: { secrets }, address: advertise, head, onMet })
  return {
    ...createTickets(seal, advertise),
    ...members,
    address: advertise,
    receive(header, method, target) {
      const received = hops.receive(header, method, target)
      return received && { ...received, by: 'replica' }
    },
    reach: (by) => ({ isForwarded: by !== undefined, isWithin: () => true, others }),
    meet: ({ owner, process }, question) => members.meet({ owner: gatewayOf(owner), process }, question),
    forget: (owner) => members.forget(gatewayOf(owner)),
    // To another gateway, nothing is said of the connection of the client.
    forward: (owner, { client: _, ...request }) => send(gatewayOf(owner), request),
    close,
  }
}
