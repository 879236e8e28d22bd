import type { ReadConfiguration } from '../config/index.ts'
import { type Finding, finding, hasErrors, sortFindings } from '../findings/index.ts'
import { inspect } from './inspect.ts'
import type { PrepareContext, Prepared } from './prepare.ts'

/** What a reading of all configurations comes to, beside what is served already. */
export interface Assembly {
  /** By configuration name: the sound ones, and the last good version of those that are not. */
  prepared: Map<string, Prepared>
  findings: Finding[]
  /** Names whose new version was refused. */
  refused: string[]
}

export interface Reading {
  configurations: readonly ReadConfiguration[]
  findings: readonly Finding[]
}

interface Candidate {
  fresh: Prepared
  old: Prepared | undefined
}

/**
 * Decides what to serve: a configuration without errors in its new version, one with errors in its last good
 * one, and of two that want the same prefix the one that has it.
 */
export function assemble(
  reading: Reading,
  served: ReadonlyMap<string, Prepared>,
  context: PrepareContext,
): Assembly {
  const byFile = new Map([...served.values()].map((prepared) => [prepared.file, prepared]))
  const broken = new Set(
    reading.findings.filter((found) => found.severity === 'error').map(({ file }) => file),
  )
  const findings = [...reading.findings]
  const kept: Prepared[] = []
  const candidates: Candidate[] = []
  const refused: string[] = []
  const refuse = (name: string, old: Prepared | undefined) => {
    refused.push(name)
    if (old) kept.push(old)
  }

  for (const read of reading.configurations) {
    const { configuration, file, text } = read
    const old = (configuration && served.get(configuration.name)) ?? byFile.get(file)
    if (old?.text === text && old.file === file) kept.push(old)
    else if (!configuration) refuse(old?.name ?? file, old)
    else {
      // A broken one too, so that one run shows everything.
      const made = inspect({ ...read, configuration }, context)
      findings.push(...made.findings)
      if (broken.has(file) || hasErrors(made.findings)) refuse(old?.name ?? configuration.name, old)
      else candidates.push({ fresh: made.prepared, old })
    }
  }
  keepUnreadable(reading, served, kept)
  // Those that are served already go before the new ones.
  candidates.sort((a, b) => Number(!a.old) - Number(!b.old))
  const taken = settle(kept, candidates, (candidate, holder) => {
    refuse(candidate.fresh.name, candidate.old)
    findings.push(clash(candidate.fresh, holder))
  })
  const prepared = new Map([...kept, ...taken].map((made) => [made.name, made]))
  return { prepared, findings: sortFindings(unique(findings)), refused }
}

const UNREADABLE = new Set<Finding['code']>(['unreadable-file', 'unreadable-store'])

/** A file, folder or store that cannot be read now keeps what was served from it. */
function keepUnreadable(reading: Reading, served: ReadonlyMap<string, Prepared>, kept: Prepared[]): void {
  const lost = reading.findings.filter(({ code }) => UNREADABLE.has(code)).map(({ file }) => file)
  for (const old of served.values())
    if (lost.some((path) => old.file === path || old.file.startsWith(`${path.replace(/\/+$/, '')}/`)))
      if (!kept.includes(old)) kept.push(old)
}

/** Takes the candidates whose prefixes and name nobody holds; one that is refused may free or hold others. */
function settle(
  kept: Prepared[],
  candidates: readonly Candidate[],
  refuse: (candidate: Candidate, holder: Prepared) => void,
): Prepared[] {
  let open = [...candidates]
  for (;;) {
    const holders = new Map<string, Prepared>()
    for (const prepared of kept) for (const claim of claims(prepared)) holders.set(claim, prepared)
    const bad = open.find((candidate) => {
      const holder = claims(candidate.fresh)
        .map((claim) => holders.get(claim))
        .find(Boolean)
      if (holder) refuse(candidate, holder)
      else for (const claim of claims(candidate.fresh)) holders.set(claim, candidate.fresh)
      return holder
    })
    if (!bad) return open.map(({ fresh }) => fresh)
    open = open.filter((candidate) => candidate !== bad)
  }
}

function claims({ name, routes }: Prepared): string[] {
  return [
    `name ${name}`,
    ...routes.flatMap(({ prefix, ssePrefix }) => [...new Set([`${prefix}/mcp`, `${ssePrefix}/sse`])]),
  ]
}

function clash(fresh: Prepared, holder: Prepared): Finding {
  const wanted = new Set(claims(fresh))
  const claim = claims(holder).find((each) => wanted.has(each)) ?? ''
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
