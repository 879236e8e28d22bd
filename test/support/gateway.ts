import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { readSettings } from '../../src/checks/index.ts'
import { createGateway } from '../../src/server/gateway.ts'
import { createLog, silentLog } from '../../src/telemetry/log.ts'
import { listening } from './listening.ts'
import { patient } from './patient.ts'
import { temporaryFolder } from './process.ts'
import type { Loose } from './wire.ts'

type Parts = Parameters<typeof createGateway>[0]

/** A gateway in this process, closed at the end of the test. @param given settings, or the text of their file */
export async function gatewayOver(
  t: Pick<TestContext, 'after'>,
  paths: Parts['paths'],
  given: object | string = {},
  { env = {}, ...parts }: Partial<Omit<Parts, 'paths' | 'settings'>> = {},
) {
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  const { settings, findings } = readSettings({ file: 'plantgw.yaml', text }, env)
  assert.deepEqual(findings, [])
  const base = { paths, env, log: silentLog, version: '1' }
  const made = await createGateway({ ...base, ...parts, settings: patient(settings!) })
  t.after(() => made.gateway?.close())
  return { ...made, gateway: made.gateway!, settings: settings! }
}

export interface GatewayHere {
  /** `http://127.0.0.1:{port}`. */
  base: string
  /** Lines that were logged, parsed. */
  logged: Loose[]
  /** Replaces the configuration and reloads. */
  change(configuration: object): Promise<Loose>
  close(): Promise<void>
}

/** The whole gateway in this process, over real sockets, with one configuration and others beside it. */
export async function gatewayHere(
  t: TestContext,
  configuration: object,
  env: Record<string, string> = process.env as Record<string, string>,
  given: object = {},
  others: readonly object[] = [],
): Promise<GatewayHere> {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, JSON.stringify(configuration))
  for (const [i, other] of others.entries())
    writeFileSync(join(folder, `other-${i}.yaml`), JSON.stringify(other))
  const logged: Loose[] = []
  const to = { write: (line: string) => void logged.push(JSON.parse(line)) }
  const log = await createLog({ level: 'debug', format: 'json', to })
  const settings = { publicUrl: 'https://tools.example.com', ...given }
  const { gateway, findings } = await gatewayOver(t, [folder], settings, { env, log })
  if (!gateway) throw new Error(JSON.stringify(findings))
  const server = createServer(getRequestListener(gateway.app.fetch))
  // On a busy machine a client uses a kept connection just when it is closed.
  server.keepAliveTimeout = 60_000
  return {
    base: `http://127.0.0.1:${await listening(t, server)}`,
    logged,
    change(next) {
      writeFileSync(file, JSON.stringify(next))
      return gateway.reload()
    },
    close: () => gateway.close(),
  }
}
