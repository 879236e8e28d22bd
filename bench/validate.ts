import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { configuration } from './lint.ts'
import { spread } from './process.ts'

/** Validating a folder beside parsing its YAML and beside ajv-cli with the same schema, each a process of its own. */
const FILES = (process.env.FILES ?? '1000,10000').split(',').map(Number)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const AJV = ['--yes', '--package=ajv-cli@5.0.0', '--package=ajv-formats@2.1.1', 'ajv']

interface Cost {
  wall: number
  cpu: number
  /** MiB at the peak. */
  memory: number
}

const PARSE = `
  const { readdirSync, readFileSync } = require('node:fs')
  const { parseDocument } = require(${JSON.stringify(resolve('node_modules/yaml'))})
  for (const name of readdirSync('.')) parseDocument(readFileSync(name, 'utf8'))`

/** Says on the last line of standard error what the process took. */
const METER = `process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  require('node:fs').writeSync(2, '\\n' + JSON.stringify([(userCPUTime + systemCPUTime) / 1000, maxRSS / 1024]))
})`

function run(meter: string, folder: string, args: readonly string[]): Cost {
  const began = performance.now()
  const child = spawnSync(process.execPath, ['--require', meter, ...args], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  const wall = performance.now() - began
  if (child.status !== 0) throw new Error(`${args.join(' ')}: ${child.stdout}${child.stderr}`.slice(0, 2000))
  const [cpu, memory] = JSON.parse(child.stderr.trimEnd().split('\n').at(-1)!)
  return { wall, cpu, memory }
}

/** The arguments for Node that run ajv-cli on the files of a folder; else why there is no such thing. */
function ajvCli(home: string): { args: readonly string[] } | { fault: string } {
  const which = spawnSync('npx', [...AJV.slice(0, 3), '--call', 'command -v ajv'], {
    cwd: home,
    encoding: 'utf8',
    timeout: 120_000,
  })
  const found = which.stdout?.trim().split('\n').at(-1)
  if (which.status !== 0 || !found) return { fault: which.error?.message ?? 'npx could not install it' }
  const schema = join(home, 'schema.json')
  // A keyword for editors, which ajv-cli has no flag for.
  const told = JSON.parse(readFileSync('schemas/configuration.schema.json', 'utf8'), (key, value) =>
    key === 'defaultSnippets' ? undefined : value,
  )
  writeFileSync(schema, JSON.stringify(told))
  const flags = ['--spec=draft2020', '--strict=false', '--all-errors', '-c', 'ajv-formats']
  return { args: [found, 'validate', ...flags, '-s', schema, '-d', '*.json'] }
}

/** One row for each command and number of files. */
export async function validateBench(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  const meter = join(home, 'meter.cjs')
  try {
    writeFileSync(meter, METER)
    const ajv = ajvCli(home)
    const rows: string[] = []
    const each: number[][] = []
    for (const count of FILES) {
      const yaml = join(home, `yaml-${count}`)
      const json = join(home, `json-${count}`)
      for (const folder of [yaml, json]) mkdirSync(folder)
      for (let i = 0; i < count; i++) {
        const text = configuration(i)
        writeFileSync(join(yaml, `service-${i}.yaml`), text)
        if ('args' in ajv) writeFileSync(join(json, `service-${i}.json`), JSON.stringify(parse(text)))
      }
      const runs: [string, string, readonly string[]][] = [
        ['parsing with `yaml`', yaml, ['-e', PARSE]],
        ['`plantgw validate`', yaml, [resolve('bin/plantgw.js'), 'validate', '.']],
      ]
      if ('args' in ajv) runs.push(['`ajv validate`, of JSON', json, ajv.args])
      const rounds = Array.from({ length: ROUNDS }, () =>
        runs.map(([, folder, args]) => run(meter, folder, args)),
      )
      for (const [i, [name]] of runs.entries()) {
        const of = (key: keyof Cost) => spread(rounds.map((costs) => costs[i]![key]))
        const ratio = spread(rounds.map((costs) => costs[i]!.wall / costs[0]!.wall))
        rows.push(`| ${count} | ${name} | ${of('wall')} | ${of('cpu')} | ${of('memory')} | ${ratio} |`)
      }
      each.push(rounds.map((costs) => costs[1]!.cpu / count))
    }
    const last = each.at(-1)!
    const linear = spread(last.map((cost, i) => cost / each[0]![i]!))
    return [
      `Validating files of 10 tools, ${ROUNDS} rounds, median (least…most):`,
      '',
      '| files | work | wall, ms | CPU, ms | peak, MiB | wall to parsing |',
      '|---|---|---|---|---|---|',
      ...rows,
      '',
      `CPU of validate for a file, ${FILES.at(-1)} files to ${FILES[0]}: ${linear} (linear: 1)`,
      ...('fault' in ajv ? ['', `Without ajv-cli: ${ajv.fault}`] : []),
    ].join('\n')
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
