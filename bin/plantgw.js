#!/usr/bin/env node
import { main } from '../dist/bin/main.js'

process.exitCode = await main(process.argv.slice(2))
// Output is written and nothing is pending. To free the heap of ten thousand files would take Node 0.1 s.
process.once('beforeExit', () => process.exit())
