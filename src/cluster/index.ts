/** Several gateways that serve as one: what clients carry between them, and requests passed on to the right one. */

export {
  type Cluster,
  type ClusterSettings,
  createCluster,
  isMarkOf,
  markOf,
  type Reach,
  sealSecretsOf,
  workerAddress,
} from './cluster.ts'
export { MAX_REPLICAS } from './contacts.ts'
export type { Forwarded, ForwardOutcome } from './forward.ts'
export { CLIENT_HEADER, HOP_HEADER, PROOF_HEADER } from './hop.ts'
export { FROM_HEADER, MEMBERS_HEADER } from './members.ts'
export { createSeal } from './seal.ts'
export type { Ticket, WaitingState } from './tickets.ts'
