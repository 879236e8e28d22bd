import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { compile, RenderError } from '../../src/template/index.ts'

/** A case that was run through Go itself; see the files in test/vectors. */
export interface Vector {
  id: string
  group: string
  /** `raw`: any data as the root; `ctx`: a closed struct; `unla`: another gateway's values, no rule here. */
  mode: 'raw' | 'ctx' | 'unla'
  template: string
  data: unknown
  env?: Record<string, string>
  sprig?: boolean
  expect: { ok: boolean; output: string; error_kind?: 'parse' | 'exec'; error?: string }
}

/** The struct that the `ctx` cases have as their root. */
const ROOTS = {
  Args: 'map',
  Config: 'strings',
  Request: { Headers: 'strings', Query: 'strings', Cookies: 'strings', Path: 'strings', Body: true },
  Response: { Data: true, Body: 'string' },
  Env: true,
} as const

export function readVectors(file: string): Vector[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Vector)
}

/** What came out instead of what is expected; undefined when the case passes. */
export function failure(vector: Vector): string | undefined {
  const { expect } = vector
  const outcome = run(vector)
  if (expect.ok) {
    if ('output' in outcome && outcome.output === expect.output) return undefined
    return `expected ${JSON.stringify(expect.output)}, got ${JSON.stringify(outcome)}`
  }
  if ('kind' in outcome && outcome.kind === expect.error_kind) return undefined
  return `expected ${expect.error_kind} error (${expect.error}), got ${JSON.stringify(outcome)}`
}

type Outcome = { output: string | undefined } | { kind: 'parse' | 'exec'; message: string }

function run(vector: Vector): Outcome {
  const env = vector.env ?? {}
  const closed = vector.mode === 'ctx'
  const { template, errors } = compile(vector.template, {
    place: 'go',
    name: 'tmpl',
    env,
    sprig: vector.sprig ?? false,
    ...(closed ? { roots: ROOTS } : {}),
  })
  if (!template) return { kind: 'parse', message: errors[0]?.message ?? '' }
  const lookUp = (name: string) => env[name] ?? ''
  const data = closed ? { ...(vector.data as object), Env: lookUp } : vector.data
  try {
    return { output: template.render(data) }
  } catch (error) {
    if (error instanceof RenderError) return { kind: 'exec', message: error.message }
    throw error
  }
}

/** `npm run vectors -- FILE…` */
function main(files: string[]): void {
  let passed = 0
  const failed: string[] = []
  for (const vector of files.flatMap(readVectors)) {
    if (vector.mode === 'unla') continue
    const fault = failure(vector)
    if (fault === undefined) passed++
    else {
      failed.push(vector.id)
      console.log(`${vector.id}: ${JSON.stringify(vector.template)}\n  ${fault}`)
    }
  }
  console.log(`${passed} passed, ${failed.length} failed`)
  if (failed.length > 0) console.log(failed.join(' '))
  process.exitCode = failed.length > 0 ? 1 : 0
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) main(process.argv.slice(2))
