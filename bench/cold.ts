import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configuration } from './lint.ts'
import { spread } from './process.ts'

/** Starting a command beside starting Node with nothing to do: rounds take turns, ratios are within a round. */
const ROUNDS = Number(process.env.ROUNDS ?? 11)

function milliseconds(args: readonly string[]): number {
  const began = performance.now()
  const env = { ...process.env, UPSTREAM: 'http://127.0.0.1:9' }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`)
  return performance.now() - began
}

export async function coldBench(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  try {
    const file = join(folder, 'service-1.yaml')
    writeFileSync(file, configuration(1))
    const one = 'bench/servers/tool.yaml'
    const parse = (path: string) => [
      '-e',
      `require('yaml').parseDocument(require('fs').readFileSync(${JSON.stringify(path)}, 'utf8'))`,
    ]
    const runs: [string, readonly string[]][] = [
      ['`node -e 0`', ['-e', '0']],
      ['`plantgw --version`', ['bin/plantgw.js', '--version']],
      ['parsing 1 tool with `yaml`', parse(one)],
      ['`plantgw validate`, 1 tool', ['bin/plantgw.js', 'validate', one]],
      ['parsing 10 tools with `yaml`', parse(file)],
      ['`plantgw validate`, 10 tools', ['bin/plantgw.js', 'validate', file]],
    ]
    for (const [, args] of runs) milliseconds(args)
    const rounds = Array.from({ length: ROUNDS }, () => runs.map(([, args]) => milliseconds(args)))
    const rows = runs.map(([name], i) => {
      const ratio = spread(rounds.map((times) => times[i]! / times[0]!))
      return `| ${name} | ${spread(rounds.map((times) => times[i]!))} | ${ratio} |`
    })
    return [
      `Cold start, ${ROUNDS} rounds, median (least…most):`,
      '',
      '| command | ms | to `node -e 0` |',
      '|---|---|---|',
      ...rows,
    ].join('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
