import { createHash } from 'node:crypto'
import {
  type Cluster,
  type ClusterSettings,
  createCluster,
  createForwarder,
  createHops,
  createTickets,
  type ForwardRequest,
  type Reach,
  workerAddress,
} from '../cluster/index.ts'

export interface PeersOptions {
  /** Where the other workers reach this one. */
  origin: string
  /** By which the workers know each other. */
  secret: string
  /** Names the run of the gateway. */
  run: string
  /** What ids of sessions are sealed with. */
  sealSecrets: readonly string[]
  /** Absent: there are no other replicas of the gateway. */
  cluster: ClusterSettings | undefined
  /** Milliseconds. */
  connectTimeout: number
  onForeign: (mark: string) => void
  /** Tells the other workers of a replica. */
  onMet(address: string): Promise<void>
}

/** Where a worker is reached by the others. */
export interface WorkerPlace {
  /** From 1 on; one that takes the place of another has its number. */
  worker: number
  origin: string
}

/** The part of a worker among the workers of its gateway, and the replicas beside it. */
export interface Peers extends Cluster {
  /** Who serves from now on, this one among them. */
  follow(workers: readonly WorkerPlace[]): void
  /** Whether a request comes from another worker. */
  isOfWorker(header: string | undefined, method: string, target: string): boolean
}

/**
 * Workers are replicas that know each other from the process that started them, not from their sessions. A session says
 * whose it is by `gateway#worker`; where the gateway is another one, any of its workers gets the request, and passes it on
 * to the right one.
 */
export function createPeers(options: PeersOptions): Peers {
  const { origin, secret, run, sealSecrets, connectTimeout, onForeign, onMet } = options
  const hops = createHops([secret])
  const inner = createForwarder(hops, { connectTimeout })
  const outer = options.cluster && createCluster(options.cluster, { connectTimeout, onForeign, onMet })
  const gateway = options.cluster?.advertise ?? ''
  const prefix = workerAddress(gateway, '')
  let workers: readonly WorkerPlace[] = []

  /** The origin of a worker of this gateway; undefined: it is none. */
  const workerIn = (owner: string) => (owner.startsWith(prefix) ? owner.slice(prefix.length) : undefined)
  const address = workerAddress(gateway, origin)
  const fellows = () =>
    workers.filter((one) => one.origin !== origin).map((one) => workerAddress(gateway, one.origin))

  function forward(owner: string, request: ForwardRequest) {
    const worker = workerIn(owner)
    if (worker === undefined) return outer?.forward(owner, request) ?? gone(owner)
    return workers.some((one) => one.origin === worker) ? inner.send(worker, request) : gone(owner)
  }

  function reach(by: 'worker' | 'replica' | undefined): Reach {
    if (by === undefined)
      return {
        nobody: false,
        isWithin: () => true,
        others: () => [...fellows(), ...(outer?.reach(undefined).others() ?? [])],
      }
    // What another gateway has passed on may be for any worker, and goes nowhere else.
    return { nobody: by === 'worker', isWithin: (owner) => workerIn(owner) !== undefined, others: fellows }
  }

  return {
    ...createTickets({ secrets: sealSecrets, onForeign }, { owner: address, process: run }),
    address,
    reach,
    forward,
    receive(header, method, target) {
      const proof = hops.receive(header, method, target)
      return proof === undefined ? outer?.receive(header, method, target) : { proof, by: 'worker' }
    },
    isOfWorker: (header, method, target) =>
      header !== undefined && hops.receive(header, method, target) !== undefined,
    meet: (ticket, question) =>
      workerIn(ticket.owner) === undefined ? outer?.meet(ticket, question) : undefined,
    greet: (from) => outer?.greet(from),
    learn: (other) => outer?.learn(other),
    forget: (owner) => outer?.forget(owner),
    isWorker: (owner) => workerIn(owner) !== undefined,
    placeOf: (key) => workerAddress(gateway, placeOf(key, workers)?.origin ?? origin),
    follow(all) {
      workers = all
    },
    async close() {
      await Promise.all([inner.close(), outer?.close()])
    },
  }
}

/** By rendezvous hashing of the numbers: when a worker ends, only what it had has another place, until it is replaced. */
function placeOf(key: string, workers: readonly WorkerPlace[]): WorkerPlace | undefined {
  const weighed = workers.map((place) => {
    const weight = createHash('sha256').update(`${place.worker} ${key}`).digest('hex')
    return { place, weight }
  })
  weighed.sort((a, b) => (a.weight < b.weight ? 1 : -1))
  return weighed[0]?.place
}

async function gone(owner: string) {
  return { gone: `the worker of ${owner} has ended` }
}
