// npm run fuzz -- <target> [--runs N] [--seed S]; without a target it lists them.
import { parseArgs } from 'node:util'
import { readInput, writeInput } from './corpus.ts'
import { type Fuzzed, fuzz } from './fuzz.ts'
import { TARGETS } from './targets/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    input: { type: 'string' },
  },
})
const [name] = positionals
const chosen = TARGETS.filter((target) => name === 'all' || target.name === name)

if (chosen.length === 0) {
  if (name !== undefined) console.error(`There is no target ${name}.\n`)
  console.log('npm run fuzz -- <target> [--runs N] [--seed S]   fuzzes a target, or all')
  console.log('npm run fuzz -- <target> --input FILE            runs one input\n')
  for (const { name, about } of TARGETS) console.log(`${name.padEnd(10)} ${about}`)
  process.exitCode = name === undefined ? 0 : 2
} else if (values.input !== undefined) {
  const check = await chosen[0]!.start()
  await check.run(readInput(values.input))
  await check.close?.()
  console.log('It holds.')
} else {
  for (const target of chosen) {
    const found = await fuzz(target, {
      runs: Number(values.runs),
      seed: Number(values.seed),
      guided: true,
      timed: true,
    })
    report(target.name, found)
    if (found.failures.length > 0) process.exitCode = 1
  }
}

function report(target: string, { runs, ms, corpus, covered, slowest, failures }: Fuzzed): void {
  const rate = Math.round((runs / ms) * 1000)
  console.log(
    `${target}: ${runs} runs in ${(ms / 1000).toFixed(1)} s (${rate}/s), seed ${values.seed}, corpus ${corpus}, ` +
      `${covered} characters of code, slowest input ${slowest.ms.toFixed(1)} ms, ${failures.length} failures`,
  )
  for (const { what, input, stack } of failures) {
    const file = writeInput(`fuzz-failures/${target}`, input)
    console.log(
      `  ${what}: ${JSON.stringify(input).slice(0, 200)}\n    in ${file}\n    ${stack.slice(0, 400)}`,
    )
  }
}
