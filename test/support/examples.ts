import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePort, plantgw, ROOT, type Running, temporaryFolder } from './process.ts'

export interface Served extends Running {
  base: string
  folder: string
}

/** Serves a copy of the examples, so that their plant store's file is the test's own. */
export async function serveExamples(t: TestContext, args: readonly string[] = []): Promise<Served> {
  const folder = temporaryFolder(t)
  cpSync(join(ROOT, 'examples'), folder, { recursive: true })
  const settings = join(folder, 'plantgw.yaml')
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('schemas/', `${ROOT}/schemas/`))
  const port = await freePort()
  const flags = ['--settings', settings, '--port', String(port), '--log-format', 'json', ...args]
  const running = plantgw(t, ['serve', join(folder, 'configs'), ...flags])
  await running.until(/Try it:/)
  return { ...running, base: `http://127.0.0.1:${port}`, folder }
}
