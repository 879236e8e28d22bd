import { BlockList, isIP } from 'node:net'
import type { Configuration, Path, ReadConfiguration } from '../../config/index.ts'
import { quote } from '../../text/index.ts'
import type { Advise } from './report.ts'

/** Names that no public DNS knows, by convention or by RFC 2606, 6761, 6762, 8375 and 9476. */
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

/** Made when the first address is looked at: few files hold one. */
let lists: ReturnType<typeof makeLists> | undefined

const ORIGIN = /^\s*(https?):\/\/(?:[^\s/?#@]*@)?(\[[\da-f:.]+\]|[^\s/?#:@{}$[\]]+)(?=[:/?#]|\s*$)/i

/** Where requests go, as far as the file itself says so. */
export function checkHosts(read: ReadConfiguration, configuration: Configuration, advise: Advise) {
  for (const [path, url] of urlsOf(configuration)) {
    const [, scheme, bracketed] = ORIGIN.exec(url) ?? []
    if (!scheme || !bracketed) continue
    checkHost(scheme.toLowerCase(), bracketed.replace(/^\[|\]$/g, '').toLowerCase(), path, (...advice) => {
      // What a variable gives here it may give otherwise elsewhere.
      const range = read.locate(path)
      if (range && read.text.slice(range.start.offset, range.end.offset).includes(bracketed))
        advise(...advice)
    })
  }
}

function checkHost(scheme: string, host: string, path: Path, advise: Advise) {
  // Node's own test takes longer to load than a file to read.
  const version = /^[\d.]+$|:/.test(host) ? isIP(host) : 0
  const family = version === 6 ? 'ipv6' : 'ipv4'
  if (version) lists ??= makeLists()
  const isIn = (list: keyof ReturnType<typeof makeLists>) =>
    version > 0 && lists?.[list].check(host, family) === true
  if (isIn('linkLocal')) {
    const message = `${quote(host)} is a link-local address, where machines in a cloud give out their credentials`
    const hint = 'Remove it, unless the tool is meant to read them'
    advise('private-address', path, message, hint, 'warning')
  } else if (isIn('shared')) {
    const hint = 'Give it by `${NAME}`, or a name that the network resolves'
    advise('private-address', path, `${quote(host)} is an address of a private network`, hint)
  } else if (scheme === 'http' && !(version ? isIn('loopback') : LOCAL_NAME.test(host)))
    advise(
      'plain-http',
      path,
      `${quote(host)} is called by http, which everybody on the way can read`,
      'Write `https`',
    )
}

function* urlsOf({ tools, servers, mcpServers, notifier }: Configuration): Generator<[Path, string]> {
  for (const [i, { endpoint }] of tools.entries()) yield [['tools', i, 'endpoint'], endpoint]
  for (const [i, { config }] of servers.entries())
    for (const [key, value] of Object.entries(config)) yield [['servers', i, 'config', key], value]
  for (const [i, { url }] of mcpServers.entries()) if (url) yield [['mcpServers', i, 'url'], url]
  if (notifier?.api) yield [['notifier', 'api', 'target_url'], notifier.api.target_url]
}
