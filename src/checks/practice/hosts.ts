import { BlockList, isIP } from 'node:net'
import type { Configuration, Path } from '../../config/index.ts'
import type { Report, Reporter } from '../../findings/index.ts'
import { quote } from '../../text/index.ts'
import type { Context } from '../check.ts'

/** Names unknown to public DNS, by convention or by RFC 2606, 6761, 6762, 8375 and 9476. */
const LOCAL_NAME =
  /^[^.]*$|\.(?:localhost|local|internal|intranet|lan|home|corp|private|svc|test|example|invalid|alt|arpa)$/i

type Net = [address: string, bits: number, family?: 'ipv6']

function listOf(...nets: Net[]): BlockList {
  const list = new BlockList()
  for (const net of nets) list.addSubnet(...net)
  return list
}

function makeLists() {
  const shared: Net[] = [
    ['10.0.0.0', 8],
    ['172.16.0.0', 12],
    ['192.168.0.0', 16],
    ['100.64.0.0', 10],
    ['fc00::', 7, 'ipv6'],
  ]
  return {
    shared: listOf(...shared),
    loopback: listOf(['127.0.0.0', 8], ['0.0.0.0', 32], ['::1', 128, 'ipv6'], ['::', 128, 'ipv6']),
    linkLocal: listOf(['169.254.0.0', 16], ['fe80::', 10, 'ipv6']),
  }
}

/** Created at the first address, as few files contain one. */
let lists: ReturnType<typeof makeLists> | undefined

const ORIGIN = /^\s*(https?):\/\/(?:[^\s/?#@]*@)?(\[[\da-f:.]+\]|[^\s/?#:@{}$[\]]+)(?=[:/?#]|\s*$)/i

/** Checks of request targets, as far as the file determines them. */
export function checkTargets(configuration: Configuration, report: Reporter, { read }: Context) {
  for (const [path, url] of urlsOf(configuration)) {
    const [, scheme, bracketed] = ORIGIN.exec(url) ?? []
    if (!scheme || !bracketed) continue
    const found = hostFault(scheme.toLowerCase(), bracketed.replace(/^\[|\]$/g, '').toLowerCase())
    if (!found) continue
    // A variable may have another value elsewhere.
    const range = read.locate(path)
    if (range && read.text.slice(range.start.offset, range.end.offset).includes(bracketed))
      report({ path, ...found })
  }
}

function hostFault(scheme: string, host: string): Omit<Report, 'path'> | undefined {
  // A cheap test, as loading Node's own is slow.
  const version = /^[\d.]+$|:/.test(host) ? isIP(host) : 0
  const family = version === 6 ? 'ipv6' : 'ipv4'
  if (version) lists ??= makeLists()
  const isIn = (list: keyof ReturnType<typeof makeLists>) =>
    version > 0 && lists?.[list].check(host, family) === true
  if (isIn('linkLocal'))
    return {
      code: 'private-address',
      message: `${quote(host)} is a link-local address, at which cloud machines give out their credentials`,
      hint: 'Remove it, unless the tool is meant to read them',
      severity: 'warning',
    }
  if (isIn('shared'))
    return {
      code: 'private-address',
      message: `${quote(host)} is an address of a private network`,
      hint: 'Give it by `${NAME}`, or a name that the network resolves',
    }
  if (scheme === 'http' && !(version ? isIn('loopback') : LOCAL_NAME.test(host)))
    return {
      code: 'plain-http',
      message: `${quote(host)} is called over http, which everybody on the way can read`,
      hint: 'Write `https`',
    }
  return undefined
}

function* urlsOf({ tools, servers, mcpServers, notifier }: Configuration): Generator<[Path, string]> {
  for (const [i, { endpoint }] of tools.entries()) yield [['tools', i, 'endpoint'], endpoint]
  for (const [i, { config, baseUrl }] of servers.entries()) {
    if (baseUrl !== undefined) yield [['servers', i, 'baseUrl'], baseUrl]
    for (const [key, value] of Object.entries(config)) yield [['servers', i, 'config', key], value]
  }
  for (const [i, { url }] of mcpServers.entries()) if (url) yield [['mcpServers', i, 'url'], url]
  if (notifier?.api) yield [['notifier', 'api', 'target_url'], notifier.api.target_url]
}
