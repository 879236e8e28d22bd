import { DEFAULT_TENANT, type OutboundSettings, type Settings } from '../config/index.ts'
import {
  type AddressClass,
  ALL_CLASSES,
  ALWAYS_DENIED,
  type DeniedClass,
  Guard,
  type Guards,
  OwnAddresses,
} from '../net/index.ts'
import { isPlantsPath } from '../plants/paths.ts'
import { pathOf } from '../text/index.ts'

/** A connection that was not made. */
export interface OutboundRefusal {
  tenant: string
  /** Class of the address. */
  class: DeniedClass
  host: string
}

/** The gateway's own paths that are open to everyone; the plant store beside them is an API like any other. */
const PROBES: ReadonlySet<string> = new Set(['/_health', '/_ready'])

type Parts = Pick<Settings, 'outbound' | 'tenants' | 'plants'>

/** Guards of outbound connections, by tenant. */
export class Outbound {
  /** Where this gateway listens. */
  readonly own = new OwnAddresses()
  private readonly known = new Map<string, Guards>()

  constructor(
    private readonly settings: Parts,
    private readonly onRefusal: (refusal: OutboundRefusal) => void = () => {},
  ) {}

  guardsOf(tenant: string): Guards {
    const known = this.known.get(tenant)
    if (known) return known
    // Without tenants in the settings their names are nothing but labels.
    const isOperator = tenant === DEFAULT_TENANT || !this.settings.tenants
    const made = isOperator ? this.ofOperator(tenant) : this.ofTenant(tenant)
    this.known.set(tenant, made)
    return made
  }

  /** Authors of configurations without a tenant control the machine anyway, so they may name any address. */
  private ofOperator(tenant: string): Guards {
    const { outbound, plants } = this.settings
    const make = this.maker(tenant, outbound)
    const deny = [...new Set([...ALWAYS_DENIED, ...outbound.deny])]
    const named = make(deny)
    const decided = make(ALL_CLASSES, named)
    const guard = make(deny.filter((one) => one !== 'own'))
    const isPlants = plants ? isPlantsPath(plants.basePath) : () => false
    const has = (target: string) => {
      const path = pathOf(target)
      return PROBES.has(path) || isPlants(path)
    }
    return { named, decided, ownPaths: { has, guard } }
  }

  private ofTenant(tenant: string): Guards {
    const { tenants = [], outbound } = this.settings
    const own = tenants.find(({ name }) => name === tenant)?.outbound ?? { allowHosts: [], allowCidrs: [] }
    const { ports = outbound.ports, ...rest } = own
    const guard = this.maker(tenant, { ...rest, ...(ports && { ports }) })(ALL_CLASSES)
    return { named: guard, decided: guard }
  }

  private maker(tenant: string, rules: Omit<OutboundSettings, 'deny'>) {
    const { own } = this
    const onRefusal = (denied: DeniedClass, host: string) => this.onRefusal({ tenant, class: denied, host })
    return (deny: readonly (AddressClass | 'own')[], forProxies?: Guard) =>
      new Guard({ ...rules, deny, own, onRefusal, ...(forProxies && { forProxies }) })
  }
}
