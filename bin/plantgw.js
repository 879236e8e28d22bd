#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'

// Code that is hot while a gateway starts does not run again, so V8 must not compile it; src/cli/serve/compilers.ts turns the
// compilers on again. This must run before the first import of a file: to resolve one makes code hot enough.
const isServer = process.argv[2] === 'serve' || process.argv[2] === 'worker'
const given = [...process.execArgv, process.env.NODE_OPTIONS].join(' ')
const compilersAreOff =
  isServer && !/(?:^|[\s"])--?(?:no[-_]?)?(?:jitless|maglev|opt|sparkplug|turbofan)(?=[\s="]|$)/.test(given)
if (compilersAreOff)
  for (const flag of ['--no-sparkplug', '--no-opt', '--no-maglev']) setFlagsFromString(flag)

const { main } = await import('../dist/bin/main.js')
// The YAML parser asks for a variable at every token, and the environment itself is slow to answer.
process.env = { ...process.env }
process.exitCode = await main(process.argv.slice(2), compilersAreOff)
// Output is written and nothing is pending. To free the heap of ten thousand files would take Node 0.1 s.
process.once('beforeExit', () => process.exit())
