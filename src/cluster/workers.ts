import { createHash } from 'node:crypto'
import { type Cluster, type ClusterSettings, createCluster, type Reach, workerAddress } from './cluster.ts'
import { createForwarder, type ForwardRequest } from './forward.ts'
import { createHops } from './hop.ts'
import { createTickets } from './tickets.ts'

interface WorkerClusterOptions {
  /** The address of this worker for the others. */
  origin: string
  /** Signs the requests between workers. */
  secret: string
  /** Names the run of the gateway. */
  run: string
  /** Seal the ids of sessions. */
  sealSecrets: readonly string[]
  /** Absent: the gateway has no replicas on other machines. */
  cluster: ClusterSettings | undefined
  /** Milliseconds. */
  connectTimeout: number
  onForeign: (mark: string) => void
  /** Tells the other workers of a replica. */
  onMet(address: string): Promise<void>
}

/** The address of a worker for the others. */
export interface WorkerPlace {
  /** From 1 on; one that takes the place of another has its number. */
  worker: number
  origin: string
}

/** The part of a worker among the workers of its gateway, and among the replicas of the gateway. */
export interface WorkerCluster extends Cluster {
  /** The workers that serve from now on, this one among them. */
  follow(workers: readonly WorkerPlace[]): void
}

/**
 * Workers are replicas that learn of each other from their parent. A session names `gateway#worker`; another gateway
 * forwards its requests to any worker of that gateway, which forwards them to the right one.
 */
export function createWorkerCluster(options: WorkerClusterOptions): WorkerCluster {
  const { origin, secret, run, sealSecrets, connectTimeout, onForeign, onMet } = options
  const hops = createHops([secret], origin)
  const inner = createForwarder(hops, { connectTimeout })
  const outer = options.cluster && createCluster(options.cluster, { connectTimeout, onForeign, onMet })
  const gateway = options.cluster?.advertise ?? ''
  const prefix = workerAddress(gateway, '')
  const address = workerAddress(gateway, origin)
  let workers: readonly WorkerPlace[] = []

  /** The origin of a worker of this gateway; undefined: it is none. */
  const workerIn = (owner: string) => (owner.startsWith(prefix) ? owner.slice(prefix.length) : undefined)
  const fellows = () =>
    workers.filter((one) => one.origin !== origin).map((one) => workerAddress(gateway, one.origin))

  async function forward(owner: string, request: ForwardRequest) {
    const worker = workerIn(owner)
    if (worker === undefined && outer) return outer.forward(owner, request)
    const known = workers.find((one) => one.origin === worker)
    return known ? inner.send(known.origin, request) : { gone: `the worker of ${owner} has ended` }
  }

  function reach(by: 'worker' | 'replica' | undefined): Reach {
    const others = () => (by ? fellows() : [...fellows(), ...(outer?.reach(undefined).others() ?? [])])
    // A request of another gateway is for one of these workers.
    return {
      isForwarded: by === 'worker',
      isWithin: (owner) => by === undefined || workerIn(owner) !== undefined,
      others,
    }
  }

  return {
    ...createTickets({ secrets: sealSecrets, onForeign }, { owner: address, process: run }),
    address,
    reach,
    forward,
    receive(header, method, target) {
      const received = hops.receive(header, method, target)
      return received ? { ...received, by: 'worker' } : outer?.receive(header, method, target)
    },
    async meet(ticket, question) {
      if (workerIn(ticket.owner) === undefined) await outer?.meet(ticket, question)
    },
    greet: (from) => outer?.greet(from),
    learn: (other) => outer?.learn(other),
    forget: (owner) => outer?.forget(owner),
    isWorker: (owner) => workerIn(owner) !== undefined,
    placeOf: (key) => workerAddress(gateway, workerOf(key, workers)?.origin ?? origin),
    follow(all) {
      workers = all
    },
    async close() {
      await Promise.all([inner.close(), outer?.close()])
    },
  }
}

/** Rendezvous hashing of worker numbers: when a worker ends, only its keys move, until it is replaced. */
function workerOf(key: string, workers: readonly WorkerPlace[]): WorkerPlace | undefined {
  const weightOf = ({ worker }: WorkerPlace) => createHash('sha256').update(`${worker} ${key}`).digest('hex')
  const weighed = workers.map((place) => ({ place, weight: weightOf(place) }))
  return weighed.sort((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.place
}
