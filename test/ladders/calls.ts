/** Holds conversations with one process, each with another fault, and checks what must be true of all of them. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Cleanup } from '../fixtures/everything/start.ts'
import { freePort, plantgw, ROOT, type Running, temporaryFolder } from '../support/process.ts'
import { type Outcome, type Speaks, type Talker, talker } from './clients.ts'
import { conversation, holds, type Kind, startKinds } from './kinds.ts'
import { atOnce, type Choice, chosen, inTime, type Operation, type Seam } from './ladder.ts'

/** A conversation that meets a fault. */
export interface Job {
  kind: Kind
  speaks: Speaks
  seam: Seam
  /** What is to go wrong; absent: nothing, so that its operations can be counted. */
  fault?: Choice & { draw: number }
}

export interface Told {
  operations: Operation[]
  /** What is wrong. */
  failures: string[]
}

const NODE = ['--import', join(ROOT, 'test/ladders/inject.mjs')]
const SETTINGS = {
  limits: { timeout: '1s', connectTimeout: '1s', writeTimeout: '1s' },
  drain: { grace: '0s' },
}
/** Milliseconds between two looks at what takes its time. */
const LOOK = 25
/** What a process without calls has none of. */
const GAUGES = [
  'plantgw_sessions',
  'plantgw_streams',
  'plantgw_buffered_bytes',
  'plantgw_upstream_sessions',
  'plantgw_internal_errors_total',
]

/** Waits until nothing is wrong any more. @param look gives what is, or undefined */
async function until(look: () => Promise<string | undefined>): Promise<void> {
  let wrong = await look()
  const over = (async () => {
    while (wrong !== undefined) {
      await pause(LOOK)
      wrong = await look()
    }
  })()
  await inTime(over, () => `it did not heal: ${wrong}`)
}

/** A gateway that meets one fault after another. Each conversation has a prefix of its own, where nothing was called yet. */
export class Patient {
  #operations: Operation[] = []
  readonly #unexpected: string[] = []
  readonly #obeyed: ((resources: string[]) => void)[] = []
  /** Prefixes where a client may not have heard that it has a session. */
  readonly #cut: string[] = []
  readonly #reports: Duplex

  private constructor(
    private readonly running: Running,
    private readonly port: number,
    private readonly jobs: readonly Job[],
  ) {
    this.#reports = running.child.stdio[3] as Duplex
    createInterface({ input: this.#reports }).on('line', (line) => {
      const told = JSON.parse(line)
      if (told.obeyed) this.#obeyed.shift()?.(told.resources)
      else if (told.unexpected) this.#unexpected.push(told.unexpected)
      else if (told.n) this.#operations.push(told)
    })
  }

  /** @param jobs all of one seam */
  static async start(t: Cleanup, jobs: readonly Job[]): Promise<Patient> {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'configs'))
    for (const [i, { kind }] of jobs.entries()) {
      const configuration = { name: `c${i}`, ...kind.configuration(`/p${i}`) }
      writeFileSync(join(folder, 'configs', `c${i}.yaml`), JSON.stringify(configuration))
    }
    writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(SETTINGS))
    const orders = {
      seam: jobs[0]!.seam,
      k: null,
      mode: 'fail',
      within: [],
      ports: [],
      armed: false,
      many: true,
    }
    const port = await freePort()
    const args = ['serve', join(folder, 'configs'), '-s', join(folder, 'plantgw.yaml'), '-p', String(port)]
    const env = { PLANTGW_FAULT: JSON.stringify(orders) }
    const running = plantgw(t, [...args, '--log-format', 'json'], { env, node: NODE })
    await running.until(/plantgw serves/)
    return new Patient(running, port, jobs)
  }

  /** Runs one job: a conversation with the fault, then, without it, the same calls until they work. */
  async run(i: number): Promise<Told> {
    const { kind, speaks, fault } = this.jobs[i]!
    const url = `http://127.0.0.1:${this.port}/p${i}`
    const talkers = ['a', 'b', 'c'].map((each) => talker(speaks, url, `${i}${each}`))
    const [first, second, third] = talkers as [Talker, Talker, Talker]
    const before = this.#said().length
    this.#operations = []
    await this.#order({ k: fault?.n ?? null, mode: 'fail', ...fault, armed: true })
    await Promise.all([talk(first, kind), talk(second, kind)])
    await this.#order({ armed: false })
    const operations = this.#operations
    const failures: string[] = []
    const works = async (one: Talker) => {
      if (one.ready) await until(() => answers(one, kind))
    }
    const begins = async () => {
      await until(async () => ('result' in (await third.open()) ? undefined : 'no session could be opened'))
      await until(() => answers(third, kind))
    }
    for (const each of await Promise.allSettled([works(first), works(second), begins()]))
      if (each.status === 'rejected') failures.push(each.reason.message)
    await Promise.allSettled(talkers.map((one) => one.close()))
    const met = operations.find((operation) => operation.fault)
    // A client whose own connection is cut knows it.
    const own = met?.name === 'accept' || met?.name === 'answer'
    if (own) this.#cut.push(`prefix="/p${i}"`)
    const violations = talkers.flatMap((one) => [...one.violations, ...(own ? [] : one.cuts)])
    failures.push(...violations, ...this.#unexpected.splice(0))
    failures.push(...internalErrors(this.#said().slice(before)))
    return { operations, failures }
  }

  /** Waits until everything is as it was at first, and ends it. */
  async end(): Promise<void> {
    await until(async () => {
      const { child } = this.running
      const resources = await this.#order({ armed: false })
      const left = resources.filter((name) => name === 'TCPSocketWrap' || name === 'ProcessWrap')
      // The question itself has a connection.
      if (left.length > 1) return `left: ${left.join(' ')}`
      const metrics = await textOf(await fetchMetrics(this.port))
      const wrong = metrics
        .split('\n')
        .filter((line) => GAUGES.some((name) => line.startsWith(name)) && !line.endsWith(' 0'))
        .filter((line) => !this.#cut.some((prefix) => line.includes(prefix)))
      return wrong.length > 0 && child.exitCode === null ? wrong.join(', ') : undefined
    })
    this.running.child.kill('SIGTERM')
    assert.equal(await inTime(this.running.ended, () => `it does not end: ${this.#said()}`), 0)
  }

  #said(): string {
    return this.running.stdout() + this.running.stderr()
  }

  #order(order: object): Promise<string[]> {
    return new Promise((resolve, reject) => {
      if (this.running.child.exitCode !== null) return reject(new Error(`it has ended: ${this.#said()}`))
      this.#obeyed.push(resolve)
      this.running.ended.then(() => reject(new Error(`it has ended: ${this.#said().slice(-2_000)}`)))
      this.#reports.write(`${JSON.stringify(order)}\n`)
    })
  }
}

/** All calls of a conversation, whatever becomes of them. */
async function talk(one: Talker, kind: Kind): Promise<void> {
  const opened = await one.open()
  if (!('result' in opened)) return
  await Promise.all(
    conversation(kind).map((ask) => {
      const token = one.token()
      const { method, params } = ask(token)
      return one.request(method, params)
    }),
  )
}

/** What is wrong with the calls of a client that is to work; its session may have ended. */
async function answers(one: Talker, kind: Kind): Promise<string | undefined> {
  const outcomes = await Promise.all(
    conversation(kind).map(async (ask, i) => {
      const token = one.token()
      const { method, params } = ask(token)
      const outcome = await one.request(method, params)
      return wrongWith(outcome, i === 1 ? token : '')
    }),
  )
  return outcomes.find((each) => each !== undefined)
}

function wrongWith(outcome: Outcome, token: string): string | undefined {
  if ('gone' in outcome) return undefined
  if ('error' in outcome) return outcome.error
  if (outcome.result.isError) return JSON.stringify(outcome.result)
  return holds(outcome.result, token)
    ? undefined
    : `not an answer to ${token}: ${JSON.stringify(outcome.result)}`
}

function internalErrors(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line.includes('internal error') || line.includes('unexpected error'))
}

function fetchMetrics(port: number): Promise<import('node:http').IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/metrics', agent: false }, resolve).on('error', reject)
  })
}

/** How many errors an operation can fail with. */
const ERRORS: Record<string, number> = { spawn: 4, connect: 2 }
/** Jobs that one process has. */
const MANY = 40
/** How many jobs a seeded choice has. */
const SOME = { socket: 40, child: 24 }

/** Holds the conversation of each kind of upstream and client with its faults. @returns what is wrong */
export async function climbCalls(
  t: Cleanup,
  seam: 'socket' | 'child',
  tell: (line: string) => void,
): Promise<string[]> {
  const kinds = await startKinds(t)
  const failures: string[] = []
  const rungs: (Choice & { job: Job })[] = []
  const counts = kinds
    .filter(({ seams }) => seams.includes(seam))
    .flatMap((kind) => kind.speaks.map((speaks): Job => ({ kind, speaks, seam })))
  await climb(t, counts, (job, { operations, failures: found }) => {
    assert.deepEqual(found, [], `${nameOf(job)} without a fault`)
    tell(`${nameOf(job)}: ${operations.length} operations`)
    for (const fault of operations.flatMap(faultsOf)) rungs.push({ ...fault, job: { ...job, fault } })
  })
  const jobs = chosen(rungs, SOME[seam]).map(({ job }) => job)
  tell(`${rungs.length} runs, ${jobs.length} of them chosen`)
  let hit = 0
  const parts = Array.from({ length: Math.ceil(jobs.length / MANY) }, (_, i) =>
    jobs.slice(i * MANY, (i + 1) * MANY),
  )
  const take = (job: Job, { operations, failures: found }: Told) => {
    const fault = operations.find((operation) => operation.fault)
    if (fault) hit++
    if (found.length === 0) return
    const about = `${nameOf(job)}, ${JSON.stringify(job.fault)}, ${fault?.name} ${fault?.about}`
    fail([about, ...found, ...(fault?.stack ?? [])].join('\n  '))
  }
  const fail = (what: string) => {
    failures.push(what)
    tell(`failed: ${what}`)
  }
  const climbPart = (part: readonly Job[]) =>
    climb(t, part, take).catch((error) => fail(`${nameOf(part[0]!)} and more: ${error.message}`))
  // They wait for limits of time more than they work.
  await atOnce(parts, climbPart, 2)
  tell(`${hit} faults met, ${failures.length} failures`)
  return failures
}

/** Runs jobs of one seam in one process. */
async function climb(t: Cleanup, jobs: readonly Job[], take: (job: Job, told: Told) => void): Promise<void> {
  const patient = await Patient.start(t, jobs)
  for (const [i, job] of jobs.entries()) take(job, await patient.run(i))
  await patient.end()
}

function faultsOf({ n, name, modes }: Operation): Required<Job>['fault'][] {
  return modes.flatMap((mode) =>
    Array.from({ length: mode === 'fail' ? (ERRORS[name] ?? 1) : 1 }, (_, draw) => ({ n, mode, draw })),
  )
}

function nameOf({ kind, speaks, seam }: Job): string {
  return `${seam}: ${kind.name}, ${speaks}`
}
