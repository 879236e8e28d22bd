/**
 * Runs a scenario of the built binary once to count the operations of a seam, then once for each operation and mode with
 * that operation failing, hanging or returning short, and checks what must hold however it went.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createRandom } from '../fuzz/random.ts'
import { plantgw, ROOT, type Running, temporaryFolder } from '../support/process.ts'

export type Seam = 'fs' | 'db' | 'socket' | 'child'
/** `late`: it hangs until the faults heal; `last`: the operation succeeds, and is the last one. */
export type Mode = 'fail' | 'hang' | 'late' | 'short' | 'last'

/** What the injector gets. */
export interface Orders {
  seam: Seam
  /** From 1; null: none. */
  k: number | null
  mode: Mode
  /** Folders whose files count, for `fs`. */
  within: readonly string[]
  /** Ports of the servers whose connections count, for `db`. */
  ports: readonly number[]
  /** Whether to count from the start; else from `Faulty.arm`. */
  armed: boolean
  /** Whether further orders come. */
  many?: boolean
  /** Which of its errors an operation fails with; default: as k decides. */
  draw?: number
}

/** One operation, as the injector reports it. */
export interface Operation {
  n: number
  name: string
  about: string
  modes: Mode[]
  stack: string[]
  /** What was done to it. */
  fault?: Mode
}

export interface Scenario {
  name: string
  seam: Seam
  /** Default: all that an operation can be in. */
  modes?: readonly Mode[]
  /** A reason to leave it out. */
  skip?: string | false
  /**
   * Prepares, starts one process with `rung.faulty`, works with it, and looks afterwards with clean processes that everything
   * acknowledged is there. Throws where something is not as it must be.
   */
  run(rung: Rung): Promise<void>
}

/** Milliseconds after which what a rung waits for will not come any more, on the slowest machine. */
const DEADLINE = 60_000
/** Milliseconds that a process with a hung operation gets to go on without it, before it is asked to end. */
const PATIENCE = 500
/** Exit codes as `--help` and the docs have them. */
const EXIT_CODES = [0, 1, 2]
/** What a message says of each error beside its code. */
const WORDS: Record<string, string[]> = {
  EIO: ['i/o error'],
  ENOSPC: ['no space left', 'the disk is full'],
  EFBIG: ['file too large'],
  EMFILE: ['too many open files'],
  ENFILE: ['file table overflow'],
  EACCES: ['permission denied'],
}
const NODE = ['--import', join(ROOT, 'test/ladders/inject.mjs')]

/** One run of a scenario, in a folder of its own. */
export class Rung {
  readonly folder: string
  /** Ports of the servers whose connections count, for `db`. */
  readonly ports: number[] = []
  readonly operations: Operation[] = []
  /** The code of the error that an operation was made to fail with. */
  error: string | undefined
  /** What reached the event loop of the process. */
  readonly unexpected: string[] = []
  #process: Faulty | undefined

  constructor(
    readonly t: Pick<TestContext, 'after'>,
    readonly scenario: Scenario,
    readonly k: number | null,
    readonly mode: Mode,
  ) {
    this.folder = temporaryFolder(t)
  }

  /** What was made to go wrong, once it was. */
  get fault(): Operation | undefined {
    return this.operations.find(({ fault }) => fault)
  }

  /**
   * Starts the one process of the run that has the fault.
   * @param armed default true: operations count from the start
   */
  faulty(args: readonly string[], { env = {}, armed = true } = {}): Faulty {
    const { scenario, ports } = this
    const { seam } = scenario
    const orders: Orders = { seam, k: this.k, mode: this.mode, within: [this.folder], ports, armed }
    const options = { env: { ...env, PLANTGW_FAULT: JSON.stringify(orders) }, node: NODE, cwd: this.folder }
    this.#process = new Faulty(this, plantgw(this.t, args, options))
    return this.#process
  }

  /** Runs a command with the fault to its end, which a hung file operation has only by a signal. */
  async command(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
    return this.faulty(args, { env }).end()
  }

  /** Runs a command without a fault, which has to work. */
  async clean(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    const running = plantgw(this.t, args, { cwd: this.folder, env })
    const code = await running.ended
    assert.equal(code, 0, `the clean \`${args.join(' ')}\` failed:\n${running.stderr()}`)
    return running.stdout()
  }

  /** What must hold after every run. */
  check(): void {
    assert.deepEqual(this.unexpected, [], 'unexpected')
    this.#process?.check()
  }
}

export interface Ended {
  /** The exit code, or the name of the signal. */
  code: number | string
  stdout: string
  stderr: string
}

interface Open {
  files: string[]
  sockets: number
}

/** Connections to a server that are kept open, at most. */
const POOL = 10

/** The process with the fault. */
export class Faulty {
  readonly #armed: Promise<void>
  readonly #hung: Promise<void>
  readonly #children = new Set<number>()
  #asked = false
  #before: Open | undefined

  constructor(
    private readonly rung: Rung,
    readonly running: Running,
  ) {
    let armed = () => {}
    let hung = () => {}
    this.#armed = new Promise((resolve) => {
      armed = resolve
    })
    this.#hung = new Promise((resolve) => {
      hung = resolve
    })
    const report = running.child.stdio[3] as Readable
    createInterface({ input: report }).on('line', (line) => {
      const told = JSON.parse(line)
      if (told.armed) armed()
      else if (told.error) rung.error = told.error
      else if (told.unexpected) rung.unexpected.push(told.unexpected)
      else rung.operations.push(told)
      if (told.fault === 'hang') hung()
    })
  }

  /** Operations count from here. */
  async arm(): Promise<void> {
    this.running.child.kill('SIGWINCH')
    await inTime(this.#armed, 'the injector did not answer')
    this.#before = this.#open()
  }

  /**
   * Waits for the line that says that it serves.
   * @returns false when it ended instead, or stood still and was ended
   */
  async serves(): Promise<boolean> {
    const serving = this.running.until(/plantgw serves/).then(
      () => true,
      () => false,
    )
    const stood = this.#hung.then(() => pause(PATIENCE)).then(() => undefined)
    const first = await Promise.race([serving, stood])
    if (first !== undefined) return first
    await this.stop()
    return false
  }

  /** Asks it to end, and waits for that; before, it has let go of all it took since `arm`. */
  async stop(): Promise<Ended> {
    if (this.#before && this.rung.fault?.fault !== 'hang') await this.#settles(this.#before)
    this.#noteChildren()
    this.#asked = true
    this.running.child.kill('SIGTERM')
    return this.#end()
  }

  /** Waits for its end. What waits for a file for ever is asked to end, as whoever started it would. */
  async end(): Promise<Ended> {
    const isOver = () => this.running.child.exitCode !== null || this.running.child.signalCode !== null
    if (this.rung.scenario.seam === 'fs')
      this.#hung
        .then(() => pause(PATIENCE))
        .then(async () => {
          if (!isOver()) await this.stop()
        })
        .catch(() => {})
    return this.#end()
  }

  async #end(): Promise<Ended> {
    const code = await inTime(this.running.ended, () => `it does not end:\n${this.#said()}`)
    return { code, stdout: this.running.stdout(), stderr: this.running.stderr() }
  }

  /** Waits until no more files and sockets are open than before. */
  async #settles(before: Open): Promise<void> {
    const started = performance.now()
    for (;;) {
      const now = this.#open()
      if (
        now.files.length <= before.files.length &&
        now.sockets <= before.sockets + (this.rung.scenario.seam === 'db' ? POOL : 0)
      )
        return
      if (performance.now() - started > DEADLINE)
        assert.deepEqual(now, before, 'more files or sockets are open than before')
      await pause(20)
    }
  }

  /** Targets of the file descriptors that are open below the folder of the run, and the number of sockets. */
  #open(): Open {
    const fds = `/proc/${this.running.child.pid}/fd`
    const targets = readdirSync(fds).map((fd) => {
      try {
        return readlinkSync(join(fds, fd))
      } catch {
        return ''
      }
    })
    return {
      files: targets.filter((target) => target.startsWith(this.rung.folder)).sort(),
      sockets: targets.filter((target) => target.startsWith('socket:')).length,
    }
  }

  #noteChildren(): void {
    try {
      const text = readFileSync(
        `/proc/${this.running.child.pid}/task/${this.running.child.pid}/children`,
        'utf8',
      )
      for (const pid of text.split(' ').filter(Boolean)) {
        // The shell that guards the groups of children ends a moment after the process.
        if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/bin/sh'))
          this.#children.add(Number(pid))
      }
    } catch {
      // It is gone, or this is not Linux.
    }
  }

  #said(): string {
    return `${this.running.stdout()}${this.running.stderr()}`
  }

  check(): void {
    const { child, stdout, stderr } = this.running
    const { fault } = this.rung
    const lines = `${stdout()}${stderr()}`.split('\n')
    assert.deepEqual(
      lines.filter((line) => line.includes('internal error') || line.includes('unexpected error')),
      [],
      'it logged an internal error',
    )
    const left = [...this.#children].filter((pid) => isAlive(pid))
    assert.deepEqual(left, [], 'children were left behind')
    if (child.signalCode !== null) {
      assert.ok(this.#asked && fault?.fault === 'hang', `it ended by ${child.signalCode}`)
      return
    }
    assert.ok(EXIT_CODES.includes(child.exitCode!), `exit code ${child.exitCode}:\n${this.#said()}`)
    if (child.exitCode === 0) return
    assert.ok(fault, `exit code ${child.exitCode} without a fault:\n${this.#said()}`)
    assert.ok(this.#said().trim() !== '', 'it failed without a message')
    const { error = '', scenario } = this.rung
    const said = this.#said().toLowerCase()
    // Drivers have words of their own for what happened to a connection.
    const words = scenario.seam === 'db' ? ['127.0.0.1'] : [error.toLowerCase(), ...(WORDS[error] ?? [])]
    assert.ok(
      words.some((word) => said.includes(word)),
      `the message does not name ${error}:\n${this.#said()}`,
    )
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Waits for what comes soon if it comes at all. */
export async function inTime<T>(promise: Promise<T>, late: string | (() => string)): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(typeof late === 'string' ? late : late())), DEADLINE)
  })
  return Promise.race([promise, deadline]).finally(() => clearTimeout(timer))
}

/** Which rungs: `all`, `<mode>:<k>` for one, else the seed of a choice. */
const CHOICE = process.env.PLANTGW_LADDER ?? '1'

/**
 * Makes the test of a scenario.
 * @param some how many rungs a seeded choice has
 */
export function ladder(scenario: Scenario, some = 3): void {
  test(`${scenario.name} with every fault of ${scenario.seam}`, {
    skip: scenario.skip ?? false,
  }, async (t) => {
    const counted = await climb(scenario, null, 'fail')
    assert.ok(counted.operations.length > 0, 'no operation was counted')
    const rungs = chosen(rungsOf(counted.operations, scenario), some)
    t.diagnostic(
      `${scenario.name}: ${counted.operations.length} operations, ${rungs.length} runs, PLANTGW_LADDER=${CHOICE}`,
    )
    const failures: string[] = []
    let hit = 0
    await atOnce(rungs, async ({ n, mode }) => {
      try {
        const rung = await climb(scenario, n, mode)
        if (rung.fault) hit++
      } catch (error) {
        const failure = `PLANTGW_LADDER=${mode}:${n}: ${(error as Error).message}`
        t.diagnostic(failure)
        failures.push(failure)
      }
    })
    t.diagnostic(`${scenario.name}: ${hit} faults, ${failures.length} failures`)
    assert.deepEqual(failures, [])
  })
}

/** One run, from its preparation to its checks. */
async function climb(scenario: Scenario, k: number | null, mode: Mode): Promise<Rung> {
  const undo: (() => unknown)[] = []
  const rung = new Rung({ after: (then) => void undo.push(then as () => unknown) }, scenario, k, mode)
  try {
    await scenario.run(rung)
    rung.check()
    return rung
  } catch (error) {
    const { fault } = rung
    const where = fault
      ? ` after ${fault.fault} of ${fault.name} ${fault.about}\n${fault.stack.join('\n')}`
      : ''
    throw new Error(`${(error as Error).message}${where}`, { cause: error })
  } finally {
    for (const each of undo.reverse()) await each()
  }
}

/** A run that may be chosen. */
export interface Choice {
  /** Of the operation. */
  n: number
  mode: Mode
}

function rungsOf(operations: readonly Operation[], { modes }: Scenario): Choice[] {
  return operations.flatMap((operation) =>
    operation.modes
      .filter((each) => !modes || modes.includes(each))
      .map((each) => ({ n: operation.n, mode: each })),
  )
}

/** Those of the runs that `CHOICE` says. @param some how many a seeded choice has */
export function chosen<T extends Choice>(all: readonly T[], some: number): T[] {
  if (CHOICE === 'all') return [...all]
  const [mode, k] = CHOICE.split(':')
  if (k !== undefined) return all.filter((one) => one.mode === mode && one.n === Number(k))
  const random = createRandom(Number(CHOICE))
  const left = [...all]
  return Array.from(
    { length: Math.min(some, all.length) },
    () => left.splice(random.below(left.length), 1)[0]!,
  )
}

/** @param many for each processor */
export async function atOnce<T>(all: readonly T[], work: (one: T) => Promise<void>, many = 1): Promise<void> {
  const left = all[Symbol.iterator]()
  const lane = async () => {
    for (const one of left) await work(one)
  }
  await Promise.all(Array.from({ length: many * availableParallelism() }, lane))
}
