import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { readSettings } from '../../src/checks/index.ts'
import { createGateway } from '../../src/server/gateway.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { patient } from './patient.ts'
import { temporaryFolder } from './process.ts'
import type { Loose } from './wire.ts'

export interface GatewayHere {
  /** `http://127.0.0.1:{port}`. */
  base: string
  /** Lines that were logged, parsed. */
  logged: Loose[]
  /** Replaces the configuration and reloads. */
  change(configuration: object): Promise<Loose>
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
  const { settings } = readSettings({ file: 'plantgw.yaml', text: JSON.stringify(given) }, {})
  const { gateway, findings } = await createGateway({
    paths: [folder],
    settings: { ...patient(settings!), publicUrl: 'https://tools.example.com' },
    env,
    log,
    version: '1',
  })
  if (!gateway) throw new Error(JSON.stringify(findings))
  const server = createServer(getRequestListener(gateway.app.fetch)).listen(0, '127.0.0.1')
  // On a busy machine a client uses a kept connection just when it is closed.
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(async () => {
    await gateway.close()
    server.closeAllConnections()
    server.close()
  })
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logged,
    change(next) {
      writeFileSync(file, JSON.stringify(next))
      return gateway.reload()
    },
  }
}
