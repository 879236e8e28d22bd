import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { TestContext } from 'node:test'
import { serve } from '@hono/node-server'
import { KnownIssuers, routeAuth } from '../../src/build/route-auth.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import type { TenantSettings } from '../../src/config/index.ts'
import { hasErrors } from '../../src/findings/index.ts'
import { HttpClient } from '../../src/net/index.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { freePort } from './process.ts'
import { type Wire, type WireOptions, wire } from './wire.ts'

/** Time that only a test moves on. Milliseconds. */
export class TestClock {
  private moved = 0
  private readonly start = Date.now()
  readonly now = () => this.start + this.moved
  readonly steady = () => this.moved
  /** Seconds since 1970. */
  get seconds() {
    return Math.floor(this.now() / 1000)
  }
  move(seconds: number) {
    this.moved += seconds * 1000
  }
}

export const PUBLIC = 'https://tools.example.com'

type OauthOptions = WireOptions & {
  tenants?: TenantSettings[]
  tenant?: string
  publicUrl?: string
  rules?: object[] | undefined
}

/** The same as `oauthWire` on a port of its own, which is its public URL. */
export async function oauthServer(
  t: TestContext,
  auth: object,
  options: Omit<OauthOptions, 'publicUrl'> = {},
): Promise<{ clock: TestClock; base: string }> {
  const clock = new TestClock()
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const { app, registry } = await oauthWire(t, auth, clock, { ...options, publicUrl: base })
  const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }) as Server
  if (!server.listening) await once(server, 'listening')
  t.after(() => {
    registry.close()
    server.closeAllConnections()
    server.close()
  })
  return { clock, base }
}

/** A gateway in this process whose routers, at `/one` and `/two`, have this `auth`. */
export async function oauthWire(
  t: Pick<TestContext, 'after'>,
  auth: object,
  clock: TestClock,
  { tenants, publicUrl = PUBLIC, rules, tenant, ...options }: OauthOptions = {},
): Promise<Wire> {
  const http = new HttpClient()
  t.after(() => http.close())
  const log = await createLog({ level: 'silent', format: 'json' })
  const text = JSON.stringify({
    name: 'test',
    ...(tenant !== undefined && { tenant }),
    routers: [{ server: 'a', prefix: '/one', auth, ...(rules && { authorize: { rules } }) }],
    servers: [{ name: 'a' }],
  })
  const { configuration, findings } = readConfiguration({ file: 'a.yaml', text }, {})
  assert.ok(configuration && !hasErrors(findings), JSON.stringify(findings))
  const issuers = new KnownIssuers({ http, log }, clock)
  const context = { publicUrl, issuers, ...(tenants && { tenants }) }
  const { authenticate, authorize, documents } = routeAuth(configuration, configuration.routers[0]!, context)
  return wire({
    ...options,
    ...(authenticate && { authenticate }),
    ...(authorize && { authorize }),
    ...(documents && { documents }),
  })
}
