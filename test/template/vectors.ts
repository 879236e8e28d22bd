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

/** @throws Error that names the file, and the line that is no case */
export function readVectors(file: string): Vector[] {
  return readText(file)
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [readVector(line, `${file}:${i + 1}`)]))
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`cannot read ${file}: ${(error as Error).message}`)
  }
}

function readVector(line: string, place: string): Vector {
  let vector: Partial<Vector> | null
  try {
    vector = JSON.parse(line)
  } catch (error) {
    throw new Error(`${place}: not JSON: ${(error as Error).message}`)
  }
  if (typeof vector?.id === 'string' && typeof vector.template === 'string' && vector.expect !== undefined)
    return vector as Vector
  throw new Error(`${place}: a case has an id, a template and what is expected`)
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

/** `npm run vectors -- FILE…`: exit code 0 when all pass, 1 when some fail, 2 when they cannot be read. */
function main(files: string[]): void {
  if (files.length === 0)
    throw new Error('give a file of cases: npm run vectors -- test/vectors/go-template.jsonl')
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

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    main(process.argv.slice(2))
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 2
  }
}
