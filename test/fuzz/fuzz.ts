import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCorpus } from './corpus.ts'
import { startCoverage } from './coverage.ts'
import { minimize } from './minimize.ts'
import { mutate } from './mutate.ts'
import { createRandom } from './random.ts'
import { Broken, type Check, type Target } from './target.ts'
import { startWatchdog } from './watchdog.ts'

export interface FuzzOptions {
  runs: number
  seed: number
  /** Keeps inputs that reach new code. Off, inputs are mutations of the corpus alone. */
  guided?: boolean
  /** Whether an input that takes longer than the budget of its target is a failure. Only in a process of its own. */
  timed?: boolean
}

export interface Failure {
  /** What went wrong, the same for all inputs that show it. */
  what: string
  /** The smallest input found that shows it. */
  input: string
  stack: string
}

export interface Fuzzed {
  runs: number
  /** Of CPU: other programs on the machine do not count. */
  ms: number
  corpus: number
  /** Characters of the sources that ran; 0 when it was not guided. */
  covered: number
  slowest: { ms: number; input: string }
  /** Each kind of failure once. */
  failures: Failure[]
}

/** Inputs between two looks at the coverage: a look takes as long as some dozen inputs. */
const BATCH = 256
/** Kinds of failures after which it ends. */
const MAX_FAILURES = 12
const DEFAULT_BUDGET = 250

/** Runs a target on its corpus and on mutations of it. */
export async function fuzz(
  target: Target,
  { runs, seed, guided = false, timed = false }: FuzzOptions,
): Promise<Fuzzed> {
  const random = createRandom(seed)
  const check = await target.start()
  const watchdog = startWatchdog(join(tmpdir(), `plantgw-fuzz-${target.name}-hang.string`))
  const corpus = [...readCorpus(target.name), ...(check.seeds ?? [])]
  const coverage = guided ? startCoverage() : undefined
  const { maxLength = 2048, budget = DEFAULT_BUDGET } = target
  const failures = new Map<string, Failure>()
  const slowest = { ms: 0, input: '' }
  const begin = cpuMs()
  /** Others like it would take as long. */
  let tooSlow = false

  /** What is wrong with an input. */
  async function fault(input: string): Promise<{ what: string; stack: string } | undefined> {
    const started = performance.now()
    watchdog.begin(input)
    try {
      const pending = check.run(input)
      if (pending) await pending
    } catch (error) {
      return { what: kindOf(error), stack: error instanceof Error ? String(error.stack) : String(error) }
    } finally {
      watchdog.end()
      const ms = performance.now() - started
      if (ms > slowest.ms) Object.assign(slowest, { ms, input })
    }
    return undefined
  }

  async function tryOut(input: string): Promise<void> {
    const before = slowest.ms
    const found = await fault(input)
    if (found && !failures.has(found.what)) {
      const small = await minimize(input, async (each) => (await fault(each))?.what === found.what)
      failures.set(found.what, { ...found, input: small })
    }
    if (!timed || slowest.ms <= before || slowest.ms <= 20) return
    // Compilers, collectors and other programs take their time too: the least of three tries is the input's own.
    const ms = Math.min(slowest.ms, await timeOf(check, input), await timeOf(check, input))
    Object.assign(slowest, { ms: Math.max(ms, before) })
    if (ms <= budget) return
    tooSlow = true
    failures.set('too slow', { what: 'too slow', input, stack: `${ms.toFixed(0)} ms, more than ${budget}` })
  }

  /** Keeps those of the inputs that reach new code; what all of them reach together was undone. */
  async function narrow(inputs: readonly string[]): Promise<void> {
    const half = (inputs.length + 1) >> 1
    for (const part of inputs.length === 1 ? [inputs] : [inputs.slice(0, half), inputs.slice(half)]) {
      for (const input of part) await fault(input)
      if (!coverage!.grew()) continue
      if (part.length === 1) corpus.push(part[0]!)
      else {
        coverage!.undo()
        await narrow(part)
      }
    }
  }

  let done = 0
  let batch: string[] = []
  for (const input of [...corpus]) await tryOut(input)
  coverage?.grew()
  for (; done < runs && !tooSlow && failures.size < MAX_FAILURES; done++) {
    const from = random.pick(corpus) ?? ''
    const input = mutate(random, from, random.pick(corpus) ?? '', target.tokens, maxLength)
    await tryOut(input)
    if (!coverage) continue
    batch.push(input)
    if (batch.length < BATCH) continue
    if (coverage.grew()) {
      coverage.undo()
      await narrow(batch)
    }
    batch = []
  }
  const ms = cpuMs() - begin
  const covered = coverage?.size() ?? 0
  coverage?.close()
  watchdog.close()
  await check.close?.()
  return { runs: done, ms, corpus: corpus.length, covered, slowest, failures: [...failures.values()] }
}

async function timeOf(check: Check, input: string): Promise<number> {
  const started = cpuMs()
  try {
    await check.run(input)
  } catch {
    // Its fault is known.
  }
  return cpuMs() - started
}

/** Milliseconds that the process worked: what other programs take does not count. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** What an error says without what it says of this input. */
function kindOf(error: unknown): string {
  if (error instanceof Broken) return error.message
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text
    .replace(/\d+/g, 'N')
    .replace(/(["'`]).*?\1/g, '…')
    .slice(0, 80)
}
