#!/usr/bin/env node
import { main } from '../dist/bin/main.js'

// The YAML parser asks for a variable at every token, and the environment itself is slow to answer.
process.env = { ...process.env }
process.exitCode = await main(process.argv.slice(2))
