import { resolve } from 'node:path'
import {
  type FoundMember,
  finder,
  findMembers,
  type Identity,
  qualifiedName,
  type ReadConfiguration,
  type Servers,
} from '../config/index.ts'
import { type Finding, finding, hasErrors, sortFindings } from '../findings/index.ts'
import { templateMemo } from '../template/index.ts'
import { pause, withoutEndSlashes } from '../text/index.ts'
import { PinLocks } from './pin-lock.ts'
import { inspect, stampOf } from './prepare.ts'
import type { AssembleContext, PrepareContext } from './prepare-context.ts'
import type { Chosen, LinkContext, Listing, Prepared, PreparedServer } from './types.ts'

/** The result of reading all configurations. */
interface Assembly {
  /** Valid configurations, and the last good version of the others, by `id`. */
  prepared: ReadonlyMap<string, Prepared>
  findings: Finding[]
  /** Ids of configurations whose new version was refused, or their files. */
  refused: string[]
  /** Ids of the configurations that `only` names; absent: all. */
  asked?: ReadonlySet<string>
}

export interface Reading {
  configurations: readonly ReadConfiguration[]
  findings: readonly Finding[]
}

/** A configuration without errors, served unless another one has its prefixes or name. */
interface Candidate {
  fresh: Prepared
  /** The configuration that it replaces. */
  old: Prepared | undefined
}

/** Configurations read, by outcome. */
interface Sorted {
  /** Served configurations that stay. */
  kept: Set<Prepared>
  /** Ids of configurations not served as read, or their files. */
  refused: string[]
  candidates: Candidate[]
  findings: Finding[]
}

/**
 * Decides what to serve: the new version of a configuration without errors, the last good version of one with
 * errors. If two want the same prefix, the one that already serves it keeps it.
 * @param only names of configurations that may change; all others are kept. Absent: all may change
 */
export async function assemble(
  reading: Reading,
  served: ReadonlyMap<string, Prepared>,
  context: AssembleContext,
  only?: ReadonlySet<string>,
): Promise<Assembly> {
  const scope = scopeOf(reading, served, only)
  const memo = templateMemo(context.env)
  // Decided last, as the configuration at fault depends on what is served.
  const isOfTwo = reading.findings.some(({ code }) => CLASHES.has(code))
  const texts = new Map(isOfTwo ? reading.configurations.map(({ file, text }) => [file, text]) : [])
  const isAbout = ({ file }: Finding) => !scope.passed.has(file)
  const others = reading.findings.filter((found) => !isClash(found, texts))
  const broken = new Set(others.filter((found) => found.severity === 'error').map(({ file }) => file))
  // A served configuration may hold the memo.
  const sorted = await classify(broken, scope, { ...context, memo, pins: new PinLocks() }).finally(memo.clear)
  const { kept, refused, candidates, findings } = sorted
  const clashes: Finding[] = []
  const taken = settle(kept, ranked(candidates), ({ fresh, old }, holder) => {
    refused.push(fresh.id)
    if (old) kept.add(old)
    clashes.push(clash(fresh, holder))
  })
  findings.unshift(...others.filter(isAbout))

  const known = reading.findings.filter((found) => isClash(found, texts))
  const reported = new Set(known.map(({ file }) => file))
  findings.push(...clashes.filter(({ file }) => !reported.has(file)))
  if (known.length) {
    const versions = new Set([...kept, ...taken].map(({ file, text }) => JSON.stringify([file, text])))
    const isLive = ({ file }: Finding) => versions.has(JSON.stringify([file, texts.get(file)]))
    findings.push(...known.filter((found) => isAbout(found) && !isLive(found)))
  }
  const prepared = link(nextOf(served, kept, taken), context)
  const { asked } = scope
  return { prepared, findings: sortFindings(unique(findings)), refused, ...(asked && { asked }) }
}

/** The kept and taken configurations; a replacement has the position of its predecessor. */
function nextOf(
  served: ReadonlyMap<string, Prepared>,
  kept: ReadonlySet<Prepared>,
  taken: readonly Prepared[],
): Map<string, Prepared> {
  const fresh = new Map(taken.map((made) => [made.id, made]))
  const next = new Map<string, Prepared>()
  for (const [id, one] of served) {
    const made = fresh.get(id) ?? (kept.has(one) ? one : undefined)
    if (made) next.set(id, made)
  }
  for (const [id, made] of fresh) next.set(id, made)
  return next
}

const CLASHES = new Set<Finding['code']>(['duplicate-prefix', 'duplicate-configuration'])

/** Whether two of the configurations read claim the same prefix or name; the one at fault is not known yet. */
function isClash({ code, file, related = [] }: Finding, read: ReadonlyMap<string, string>): boolean {
  return CLASHES.has(code) && related.some((other) => other.file !== file && read.has(other.file))
}

interface Scope {
  /** Configurations that may change. */
  reads: readonly ReadConfiguration[]
  /** The served version of a configuration, by its `id`, else by its file. */
  oldOf(read: ReadConfiguration): Prepared | undefined
  /** Files outside the reload; their findings are not reported. */
  passed: ReadonlySet<string>
  /** Configurations kept in any case. */
  kept: ReadonlySet<Prepared>
  /** Kept configurations that cannot be read now. */
  lost: ReadonlySet<Prepared>
  asked?: ReadonlySet<string>
}

function scopeOf(
  reading: Reading,
  served: ReadonlyMap<string, Prepared>,
  only: ReadonlySet<string> | undefined,
): Scope {
  const byFile = new Map([...served.values()].map((prepared) => [prepared.file, prepared]))
  const oldOf = ({ configuration, file }: ReadConfiguration) =>
    (configuration && served.get(qualifiedName(configuration))) ?? byFile.get(file)
  const lost = unreadable(reading, served)
  const { configurations } = reading
  if (!only) return { reads: configurations, oldOf, passed: new Set(), kept: lost, lost }
  const known = [...configurations.flatMap(({ configuration }) => configuration ?? []), ...served.values()]
  const find = finder(known)
  const asked = new Set([...only].flatMap((name) => find(name).map((one) => qualifiedName(one))))
  const isAsked = (one: Identity | undefined) => one !== undefined && asked.has(qualifiedName(one))
  const passed = new Set(
    configurations
      .filter(({ configuration, file }) => !isAsked(configuration) && !isAsked(byFile.get(file)))
      .map(({ file }) => file),
  )
  const reads = configurations.filter((read) => {
    const old = oldOf(read)
    return !passed.has(read.file) && (!old || isAsked(old))
  })
  const others = [...served.values()].filter((one) => !isAsked(one))
  return { reads, oldOf, passed, kept: new Set([...others, ...lost]), lost, asked }
}

/** Compiles and checks each changed configuration by itself. */
async function classify(
  broken: ReadonlySet<string>,
  { reads, oldOf, kept: before, lost }: Scope,
  context: PrepareContext,
): Promise<Sorted> {
  const kept = new Set(before)
  const refused: string[] = []
  const candidates: Candidate[] = []
  const findings: Finding[] = []
  for (const read of reads) {
    // Yield to calls between configurations.
    await pause()
    const { configuration, file, text } = read
    const old = oldOf(read)
    const isUnchanged =
      old?.text === text &&
      old.file === file &&
      (!configuration || (old.stamp ?? '') === stampOf(file, configuration, text, context))
    if (configuration && !isUnchanged) {
      // A broken one too, so that one run reports everything.
      const own = old?.resiliences ? { ...context, kept: old.resiliences } : context
      const { prepared: fresh, findings: found } = await inspect({ ...read, configuration }, own)
      findings.push(...found)
      const isBroken = broken.has(file) || hasErrors(found)
      // Its old file is unreadable, so it may still be there.
      const isDoubtful = old !== undefined && lost.has(old)
      if (!isBroken && !isDoubtful) {
        candidates.push({ fresh, old })
        continue
      }
    }
    if (!isUnchanged) refused.push(old?.id ?? (configuration ? qualifiedName(configuration) : file))
    if (old) kept.add(old)
  }
  return { kept, refused, candidates, findings }
}

/** Served configurations before new ones, those from the same file first; each is replaced at most once. */
function ranked(candidates: readonly Candidate[]): Candidate[] {
  const rank = ({ fresh, old }: Candidate) => (!old ? 2 : old.file === fresh.file ? 0 : 1)
  const sorted = candidates.toSorted((a, b) => rank(a) - rank(b))
  const heirs = new Map(sorted.toReversed().map((candidate) => [candidate.old, candidate]))
  return sorted.map((one) => (heirs.get(one.old) === one ? one : { ...one, old: undefined }))
}

/**
 * All findings of a first load, including clashes with a configuration that is also broken otherwise, which
 * would only show once that is fixed.
 */
export function allFindings({ findings }: Reading, made: readonly Finding[]): Finding[] {
  return sortFindings(unique([...findings, ...made]))
}

const UNREADABLE = new Set<Finding['code']>(['unreadable-file', 'unreadable-store'])

/** Served configurations from a file, folder or store that cannot be read now. */
function unreadable({ findings }: Reading, served: ReadonlyMap<string, Prepared>): ReadonlySet<Prepared> {
  const lost = new Set<string>()
  // As it is written for the records of a store, as a path for `./configs` and the like.
  for (const { code, file } of findings)
    if (UNREADABLE.has(code))
      for (const path of [file, resolve(file)]) lost.add(`${withoutEndSlashes(path)}/`)
  if (lost.size === 0) return new Set()
  return new Set(
    [...served.values()].filter(({ file }) => isWithin(file, lost) || isWithin(resolve(file), lost)),
  )
}

/** Whether a path is one of the folders, which end with a slash, or below one. */
function isWithin(path: string, folders: ReadonlySet<string>): boolean {
  const whole = `${path}/`
  for (let end = whole.indexOf('/'); end >= 0; end = whole.indexOf('/', end + 1))
    if (folders.has(whole.slice(0, end + 1))) return true
  return false
}

/** Takes the candidates whose prefixes and name are free; a refused one may free or hold others. */
function settle(
  kept: ReadonlySet<Prepared>,
  candidates: readonly Candidate[],
  refuse: (candidate: Candidate, holder: Prepared) => void,
): Prepared[] {
  const wanted = new Set(candidates.flatMap(({ fresh }) => fresh.claims))
  const holders = new Map<string, Prepared>()
  const hold = (prepared: Prepared, by: Map<string, Prepared>) => {
    for (const claim of prepared.claims) if (wanted.has(claim)) by.set(claim, prepared)
  }
  for (const prepared of kept) hold(prepared, holders)
  for (let open = candidates; ; ) {
    const taken = new Map<string, Prepared>()
    const refused = new Set<Candidate>()
    for (const candidate of open) {
      const claim = candidate.fresh.claims.find((one) => holders.has(one) || taken.has(one))
      if (claim === undefined) {
        hold(candidate.fresh, taken)
        continue
      }
      refuse(candidate, (holders.get(claim) ?? taken.get(claim))!)
      refused.add(candidate)
      if (!candidate.old) continue
      // The old version stays, and may clash with candidates taken earlier: check them again.
      hold(candidate.old, holders)
      break
    }
    if (refused.size === 0) return open.map(({ fresh }) => fresh)
    open = open.filter((candidate) => !refused.has(candidate))
  }
}

function clash(fresh: Prepared, holder: Prepared): Finding {
  const claim = holder.claims.find((each) => fresh.claims.includes(each)) ?? ''
  return claim.startsWith('name ')
    ? finding('duplicate-configuration', fresh.file, `the name ${fresh.id} is already used by ${holder.file}`)
    : finding('duplicate-prefix', fresh.file, `the endpoint ${claim} is already used by ${holder.file}`, {
        hint: 'Give one of them another prefix; until then the configuration that had it keeps it',
      })
}

/** Drops duplicate findings of different stages at the same place. */
function unique(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ code, file, range, message }) => {
    const key = JSON.stringify([code, file, range?.start.offset, message])
    return !seen.has(key) && seen.add(key)
  })
}

/** The configurations of one tenant, by name. */
type Known = Map<string, Prepared>

/**
 * Makes the routes of routers with lists of servers, which depend on other configurations, anew where one of those servers
 * is another than before, came or went.
 */
function link(prepared: ReadonlyMap<string, Prepared>, context: LinkContext): ReadonlyMap<string, Prepared> {
  let tenants: Map<string, Known> | undefined
  const all = new Map(prepared)
  for (const [id, one] of prepared) {
    if (!one.listings) continue
    const { listings } = one
    tenants ??= byTenant(prepared)
    const known = tenants.get(one.tenant) as Known
    const chosen = listings.all.map(({ router }) => chosenOf(router, one.name, known))
    const made = chosen.flat().map(({ server }) => server)
    if (isSame(made, listings.made)) continue
    const routes = listings.all.map((listing, i) => listing.make(chosen[i]!, context))
    all.set(id, { ...one, routes: [...listings.own, ...routes], listings: { ...listings, made } })
  }
  return all
}

function byTenant(prepared: ReadonlyMap<string, Prepared>): Map<string, Known> {
  const tenants = new Map<string, Known>()
  for (const one of prepared.values()) {
    const known: Known = tenants.get(one.tenant) ?? new Map()
    tenants.set(one.tenant, known.set(one.name, one))
  }
  return tenants
}

function chosenOf(router: Listing['router'], name: string, known: Known): Chosen[] {
  const serversOf = (one: Prepared): Servers => ({ name: one.name, servers: [...one.servers.keys()] })
  const own = serversOf(known.get(name) as Prepared)
  const { found } = findMembers(router, own, [...known.values()].map(serversOf))
  return found.flatMap(({ configuration, server, member }: FoundMember) => {
    const one = known.get(configuration)?.servers.get(server)
    return one ? [{ server: one, member }] : []
  })
}

function isSame(made: readonly PreparedServer[], before: readonly PreparedServer[] | undefined): boolean {
  return before?.length === made.length && made.every((server, i) => server === before[i])
}
