import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** Revisions for which the official suite has a list of requirements. */
export type Revision = '2025-11-25' | '2026-07-28'

export interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  message?: string
}

export interface Outcome {
  /** Whether conformance to the revision needs it. */
  scored: boolean
  /** Empty when the scenario broke off without a result. */
  checks: Check[]
}

export type SuiteResult = Map<string, Outcome>

const PACKAGE = dirname(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'),
)
const PRELOAD = fileURLToPath(new URL('preload.js', import.meta.url))

interface Requirements {
  server: string[]
  not_scored: { scenario: string; leg: string }[]
}

/** The server scenarios of a revision: those that count, and those that the suite runs without counting. */
export function scenarios(revision: Revision): { scored: string[]; unscored: string[] } {
  const file = join(PACKAGE, 'requirements', `${revision}.yaml`)
  const { server, not_scored } = parse(readFileSync(file, 'utf8')) as Requirements
  const unscored = not_scored.filter(({ leg }) => leg === 'server').map(({ scenario }) => scenario)
  return { scored: server, unscored }
}

/** Runs every server scenario of a revision against a URL. The suite speaks streamable HTTP only. */
export async function runSuite(url: string, revision: Revision): Promise<SuiteResult> {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-conformance-'))
  try {
    const args = ['server', '--url', url, '--requirements', revision, '--output-dir', folder]
    const child = spawn(process.execPath, ['--import', PRELOAD, join(PACKAGE, 'dist/index.js'), ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    await once(child, 'exit')
    return read(folder, revision)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function read(folder: string, revision: Revision): SuiteResult {
  const { scored, unscored } = scenarios(revision)
  const found = new Map<string, Check[]>()
  for (const name of readdirSync(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT.*Z$/.exec(name)?.[1]
    if (scenario !== undefined) found.set(scenario, readChecks(join(folder, name, 'checks.json')))
  }
  return new Map(
    [...scored, ...unscored].map((scenario) => [
      scenario,
      { scored: scored.includes(scenario), checks: found.get(scenario) ?? [] },
    ]),
  )
}

function readChecks(file: string): Check[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return [] // The scenario broke off before it wrote anything.
  }
  const checks = JSON.parse(text) as (Check & { errorMessage?: string })[]
  return checks.map(({ id, status, errorMessage }) => ({
    id,
    status,
    ...(errorMessage !== undefined && { message: errorMessage }),
  }))
}

/** A warning is a fault here. */
export function passes({ checks }: Outcome): boolean {
  return checks.length > 0 && checks.every(({ status }) => status !== 'FAILURE' && status !== 'WARNING')
}

/** What went wrong in a scenario, for people. */
export function faults({ checks }: Outcome): string {
  if (checks.length === 0) return 'it broke off without a result'
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, status, message }) => `${status} ${id}: ${message ?? ''}`)
    .join('\n')
}
