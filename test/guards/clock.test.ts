import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript'
import { ROOT } from '../support/process.ts'

/**
 * Files that need the time of day: a certificate's, a token's, a template's, what other processes and
 * collectors compare, what people read.
 */
const OF_DAY = new Set([
  'src/access/bearer.ts',
  'src/build/route-auth.ts',
  'src/checks/fields/value-rules.ts',
  'src/cli/serve/serve.ts',
  'src/cluster/tickets.ts',
  'src/credentials/credential.ts',
  'src/endpoints/connect.ts',
  'src/mcp/session/replicas.ts',
  'src/net/tls-files.ts',
  'src/notify/signal.ts',
  'src/plants/lowdb.ts',
  'src/server/audit.ts',
  'src/server/console/layout.tsx',
  'src/server/recorder.ts',
  'src/server/gateway.ts',
  'src/server/status.ts',
  'src/telemetry/otel.ts',
  'src/template/funcs/dates.ts',
  'src/tools/tasks.ts',
])

test('what lasts is measured by a clock that never jumps', () => {
  const files = ts.sys.readDirectory(join(ROOT, 'src'), ['.ts', '.tsx']).map((file) => relative(ROOT, file))
  const found = files.filter((file) => /\bDate\.now\b/.test(readFileSync(join(ROOT, file), 'utf8')))
  assert.deepEqual(new Set(found), OF_DAY, '`performance.now()` is such a clock')
})
