import type { Context } from 'hono'
import { HttpResponse } from '../access/http-response.ts'
import type { Settings } from '../config/index.ts'
import { isPlantsPath } from '../plants/index.ts'
import { isOwnPage } from '../server/own-pages.ts'
import type { Shared } from '../server/shared-parts.ts'
import type { ListChange } from '../upstream/index.ts'
import type {
  Beginning,
  LeaseQuestion,
  ParentHandlers,
  QuotaName,
  RecallQuestion,
  Units,
} from './channel-messages.ts'
import { LeasedQuota } from './leased-quota.ts'
import { pageRequest, pageResponse } from './passed-pages.ts'
import { createPeers, type Peers } from './peers.ts'
import { sharedLogins } from './shared-logins.ts'
import type { Channel } from './worker-channel.ts'

/** What a worker has together with the others, and what the process that started it asks of that. */
export interface WorkerParts {
  shared: Shared
  /** Once there is a gateway. */
  peers(): Peers | undefined
  recall(question: RecallQuestion): Units
  listChanged(change: ListChange): void
}

/** @param origin where the other workers reach this one */
export function workerParts(
  channel: Channel<ParentHandlers>,
  { settings, sealSecrets, secret, run }: Beginning,
  origin: string,
): WorkerParts {
  let peers: Peers | undefined
  let onListChanged: (change: ListChange) => void = () => {}
  const quotas = new Map<QuotaName, LeasedQuota>()
  const quotaOf = (name: QuotaName, ...[limits, makeRoom]: Parameters<Shared['sessions']>) => {
    const lender = {
      lease: (question: LeaseQuestion) => channel.ask('lease', question),
      giveBack: (units: Units) => channel.note('giveBack', { quota: name, units }),
    }
    const quota = new LeasedQuota(name, limits, lender, makeRoom)
    quotas.set(name, quota)
    return quota
  }
  const shared: Shared = {
    cluster(onForeign) {
      const { cluster, limits } = settings
      const { connectTimeout } = limits
      const onMet = (address: string) => channel.ask('met', address)
      peers = createPeers({ origin, secret, run, sealSecrets, cluster, connectTimeout, onForeign, onMet })
      return peers
    },
    sealSecrets,
    rates: { take: (takes) => channel.ask('take', takes) },
    logins: sharedLogins((question) => channel.ask('login', question)),
    calls: (limits) => quotaOf('calls', limits, () => {}),
    sessions: (limits, makeRoom) => quotaOf('sessions', limits, makeRoom),
    otherWorkers: {
      tell: (change) => channel.note('listChanged', change),
      follow(listener) {
        onListChanged = listener
      },
    },
    elsewhere: elsewhereFor(channel, settings),
  }
  return {
    shared,
    peers: () => peers,
    listChanged: (change) => onListChanged(change),
    recall: (question) => quotas.get(question.quota)?.recall(question) ?? new Map(),
  }
}

function elsewhereFor(channel: Channel<ParentHandlers>, { plants }: Settings): Shared['elsewhere'] {
  const isPlants = plants ? isPlantsPath(plants.basePath) : () => false
  return (c: Context) => {
    const { path } = c.req
    return isOwnPage(path) || isPlants(path) ? ask(c, channel) : undefined
  }
}

async function ask(c: Context, channel: Channel<ParentHandlers>): Promise<HttpResponse> {
  let request: Parameters<ParentHandlers['page']>[0]
  try {
    request = await pageRequest(c)
  } catch {
    return HttpResponse.json({ error: 400, message: 'The body ended before it was complete.' }, 400)
  }
  return pageResponse(await channel.ask('page', request))
}
