import { resolve } from 'node:path'
import { type ReadConfiguration, takeTurns } from '../config/index.ts'
import { type Finding, finding, hasErrors, sortFindings } from '../findings/index.ts'
import { templateMemo } from '../template/index.ts'
import { inspect } from './inspect.ts'
import type { PrepareContext, Prepared } from './prepare.ts'

/** What a reading of all configurations comes to, beside what is served already. */
export interface Assembly {
  /**
   * By configuration name: the sound ones, and the last good version of those that are not. The very map that is
   * served where nothing changes.
   */
  prepared: ReadonlyMap<string, Prepared>
  findings: Finding[]
  /** Names whose new version was refused. */
  refused: string[]
}

export interface Reading {
  configurations: readonly ReadConfiguration[]
  findings: readonly Finding[]
  /** By configuration name, where they come from a store that has versions. */
  versions?: ReadonlyMap<string, string>
}

interface Candidate {
  fresh: Prepared
  old: Prepared | undefined
}

/**
 * Decides what to serve: a configuration without errors in its new version, one with errors in its last good
 * one, and of two that want the same prefix the one that has it.
 * @param only what these names stand for may change, all else is served on; absent: all of it
 */
export async function assemble(
  reading: Reading,
  served: ReadonlyMap<string, Prepared>,
  context: PrepareContext,
  only?: ReadonlySet<string>,
): Promise<Assembly> {
  const memo = templateMemo(context.env)
  try {
    return await assembleWith(reading, served, { ...context, memo }, only)
  } finally {
    // What is served may hold it.
    memo.clear()
  }
}

async function assembleWith(
  reading: Reading,
  served: ReadonlyMap<string, Prepared>,
  context: PrepareContext,
  only?: ReadonlySet<string>,
): Promise<Assembly> {
  let files: Map<string, Prepared> | undefined
  const byFile = (file: string) => {
    files ??= new Map([...served.values()].map((prepared) => [prepared.file, prepared]))
    return files.get(file)
  }
  // Who has what two of them want is decided below, by what is served.
  const texts = new Map(
    reading.findings.length ? reading.configurations.map(({ file, text }) => [file, text]) : [],
  )
  const [clashes, others] = split(reading.findings, (found) => isClash(found, texts))
  const broken = new Set(others.filter((found) => found.severity === 'error').map(({ file }) => file))
  const kept = new Set<Prepared>()
  const candidates: Candidate[] = []
  const refused: string[] = []
  const turn = takeTurns()
  const refuse = (name: string, old: Prepared | undefined) => {
    refused.push(name)
    if (old) kept.add(old)
  }

  const passed = only ? passedOver(reading, byFile, only) : NONE
  const findings = others.filter(({ file }) => !passed.has(file))
  for (const old of served.values()) if (only && !only.has(old.name)) kept.add(old)

  for (const read of reading.configurations) {
    const pause = turn()
    if (pause) await pause
    const { configuration, file, text } = read
    if (passed.has(file)) continue
    const old = (configuration && served.get(configuration.name)) ?? byFile(file)
    if (old && only && !only.has(old.name)) continue
    if (old?.text === text && old.file === file) kept.add(old)
    else if (!configuration) refuse(old?.name ?? file, old)
    else {
      // A broken one too, so that one run shows everything.
      const made = await inspect({ ...read, configuration }, context, turn)
      findings.push(...made.findings)
      if (broken.has(file) || hasErrors(made.findings)) refuse(old?.name ?? configuration.name, old)
      else candidates.push({ fresh: made.prepared, old })
    }
  }
  await turn()
  const lost = unreadable(reading, served)
  for (const old of lost) kept.add(old)
  const [unsure, open] = split(candidates, ({ old }) => old !== undefined && lost.has(old))
  for (const { fresh, old } of unsure) refuse(fresh.name, old)
  // Those that are served already go before the new ones, and from the same file before from another one.
  open.sort((a, b) => rankOf(a) - rankOf(b))
  const heirs = new Map(open.toReversed().map((candidate) => [candidate.old, candidate]))
  for (const candidate of open) if (heirs.get(candidate.old) !== candidate) candidate.old = undefined
  const told = new Set(clashes.map(({ file }) => file))
  const taken = settle(kept, open, ({ fresh, old }, holder) => {
    refuse(fresh.name, old)
    if (!told.has(fresh.file)) findings.push(clash(fresh, holder))
  })
  const live = new Set(
    clashes.length ? [...kept, ...taken].map(({ file, text }) => JSON.stringify([file, text])) : [],
  )
  for (const found of clashes)
    if (!passed.has(found.file) && !live.has(JSON.stringify([found.file, texts.get(found.file)])))
      findings.push(found)
  return { prepared: successor(served, kept, taken), findings: sortFindings(unique(findings)), refused }
}

/**
 * What was found before anything is served, with the clashes of which one side is broken by something else: who
 * mends that would only then learn of them.
 */
export function everything({ findings }: Reading, made: readonly Finding[]): Finding[] {
  return sortFindings(unique([...findings, ...made]))
}

function split<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  const parts: [T[], T[]] = [[], []]
  for (const one of all) parts[isFirst(one) ? 0 : 1].push(one)
  return parts
}

/** Whether two configurations that were read want the same; which of them is at fault is not known yet. */
function isClash({ code, file, related = [] }: Finding, read: ReadonlyMap<string, string>): boolean {
  const both = code === 'duplicate-prefix' || code === 'duplicate-configuration'
  return both && related.some((other) => other.file !== file && read.has(other.file))
}

function rankOf({ fresh, old }: Candidate): number {
  return !old ? 2 : old.file === fresh.file ? 0 : 1
}

/** What is served, with what was taken in place of what was not kept; each stays where it is in the order. */
function successor(
  served: ReadonlyMap<string, Prepared>,
  kept: ReadonlySet<Prepared>,
  taken: readonly Prepared[],
): ReadonlyMap<string, Prepared> {
  if (taken.length === 0 && kept.size === served.size) return served
  const prepared = new Map(served)
  for (const made of taken) prepared.set(made.name, made)
  for (const old of served.values())
    if (!kept.has(old) && prepared.get(old.name) === old) prepared.delete(old.name)
  return prepared
}

const NONE: ReadonlySet<string> = new Set()

/** Files that none of the names stands for. */
function passedOver(
  { configurations }: Reading,
  byFile: (file: string) => Prepared | undefined,
  only: ReadonlySet<string>,
): ReadonlySet<string> {
  const isAsked = (name: string | undefined) => name !== undefined && only.has(name)
  const passed = configurations.filter(
    ({ configuration, file }) => !isAsked(configuration?.name) && !isAsked(byFile(file)?.name),
  )
  return new Set(passed.map(({ file }) => file))
}

const UNREADABLE = new Set<Finding['code']>(['unreadable-file', 'unreadable-store'])

/** What is served from a file, folder or store that cannot be read now. */
function unreadable({ findings }: Reading, served: ReadonlyMap<string, Prepared>): ReadonlySet<Prepared> {
  const lost = new Set<string>()
  // As it is written for the records of a store, as a path for `./configs` and the like.
  for (const { code, file } of findings)
    if (UNREADABLE.has(code))
      for (const path of [file, resolve(file)]) lost.add(path.replace(/(?<!\/)\/*$/, '/'))
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

/** Takes the candidates whose prefixes and name nobody holds; one that is refused may free or hold others. */
function settle(
  kept: ReadonlySet<Prepared>,
  candidates: readonly Candidate[],
  refuse: (candidate: Candidate, holder: Prepared) => void,
): Prepared[] {
  if (candidates.length === 0) return []
  const wanted = new Set(candidates.flatMap(({ fresh }) => claimsOf(fresh)))
  const holders = new Map<string, Prepared>()
  const hold = (prepared: Prepared, by: Map<string, Prepared>) => {
    for (const claim of claimsOf(prepared)) if (wanted.has(claim)) by.set(claim, prepared)
  }
  for (const prepared of kept) hold(prepared, holders)
  for (let open = candidates; ; ) {
    const taken = new Map<string, Prepared>()
    const refused = new Set<Candidate>()
    for (const candidate of open) {
      const claim = claimsOf(candidate.fresh).find((one) => holders.has(one) || taken.has(one))
      if (claim === undefined) {
        hold(candidate.fresh, taken)
        continue
      }
      refuse(candidate, (holders.get(claim) ?? taken.get(claim))!)
      refused.add(candidate)
      if (!candidate.old) continue
      // What it served it serves on, beside those that were taken before it: they are asked again.
      hold(candidate.old, holders)
      break
    }
    if (refused.size === 0) return open.map(({ fresh }) => fresh)
    open = open.filter((candidate) => !refused.has(candidate))
  }
}

const known = new WeakMap<Prepared, readonly string[]>()

/** What only one configuration can have: its name and its endpoints. */
export function claimsOf(prepared: Prepared): readonly string[] {
  let claims = known.get(prepared)
  if (!claims) {
    const { name, routes } = prepared
    // Prefixes that differ by case only are the same.
    const paths = routes
      .flatMap(({ prefix, ssePrefix }) => [`${prefix}/mcp`, `${ssePrefix}/sse`])
      .map((path) => path.toLowerCase())
    claims = [...new Set([`name ${name}`, ...paths])]
    known.set(prepared, claims)
  }
  return claims
}

function clash(fresh: Prepared, holder: Prepared): Finding {
  const wanted = new Set(claimsOf(fresh))
  const claim = claimsOf(holder).find((each) => wanted.has(each)) ?? ''
  return claim.startsWith('name ')
    ? finding('duplicate-configuration', fresh.file, `the name ${fresh.name} is taken by ${holder.file}`)
    : finding('duplicate-prefix', fresh.file, `the endpoint ${claim} is taken by ${holder.file}`, {
        hint: 'Give one of them another prefix; the one that had it keeps it until then',
      })
}

/** Drops what two stages said of the same place. */
function unique(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ code, file, range, message }) => {
    const key = JSON.stringify([code, file, range?.start.offset, message])
    return !seen.has(key) && seen.add(key)
  })
}
