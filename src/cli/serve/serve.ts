import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Command } from 'commander'
import { type Guarded, guardedServer } from '../../access/connection-limits.ts'
import type { Table } from '../../build/types.ts'
import type { Settings, SettingsFlags } from '../../config/index.ts'
import { hasErrors } from '../../findings/index.ts'
import { takePidFile } from '../../notify/pidfile.ts'
import { RELOAD_SIGNALS } from '../../notify/signal.ts'
import { createGateway, type Gateway, type GatewayOptions } from '../../server/gateway.ts'
import { previewTable } from '../../server/live.ts'
import { createReceivers, type Receivers } from '../../server/receivers.ts'
import type { Watch } from '../../server/reloads.ts'
import { watchFiles } from '../../server/watch-files.ts'
import { watchStore } from '../../server/watch-store.ts'
import { type ConfigurationStore, openStore } from '../../store/index.ts'
import { createLog, type Logger } from '../../telemetry/log.ts'
import { catchUnexpected, unexpected } from '../../telemetry/unexpected.ts'
import { printFindings } from '../output.ts'
import { loadSettings } from '../settings.ts'
import { VERSION } from '../version.ts'
import { banner, printedRoutes } from './banner.ts'

interface ServeFlags extends SettingsFlags {
  settings?: string
  skipInvalid?: boolean
  printRoutes?: boolean
}

export function serveCommand(exit: (code: number) => void): Command {
  return new Command('serve')
    .description('Serve configurations as MCP endpoints until SIGTERM or SIGINT; SIGHUP reloads them.')
    .argument('[paths...]', 'configuration files or folders (default: the `storage` of the settings)')
    .option('-s, --settings <file>', 'settings file, for example plantgw.yaml')
    .option('-p, --port <number>', 'port to listen on (default 5235)')
    .option('--host <address>', 'address to listen on (default 127.0.0.1)')
    .option('--pid <file>', 'write the process id to this file')
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent (default info)')
    .option('--log-format <format>', 'json or pretty (default: pretty on a terminal)')
    .option('--reload-interval <duration>', 'time between the reloads of --reload-switch (default 600s)')
    .option('--reload-switch', 'reload the configurations at every interval')
    .option('--watch', 'apply changes of files and folders automatically')
    .option('--skip-invalid', 'serve the valid configurations even if others have errors')
    .option('--print-routes', 'print the routes that would be served, and exit')
    .action(async (paths: string[], flags: ServeFlags) => exit(await serve(paths, flags)))
}

/** Serves until a signal ends it; returns the exit code. */
async function serve(paths: readonly string[], flags: ServeFlags): Promise<number> {
  const { settings, wrongUse } = loadSettings(flags.settings, flags)
  if (!settings) return wrongUse ? 2 : 1

  if (paths.length === 0 && !settings.storage)
    throw new Error('give configuration files or folders, or settings with a `storage`')
  const log = await createLog(settings.logger)
  catchUnexpected(log)
  const { skipInvalid = false } = flags
  // Before others can read the pid file: the signal ends a process that does not listen for it.
  const hangUps = catchHangUps()
  const removePid = settings.pid === undefined || flags.printRoutes ? () => {} : takePidFile(settings.pid)
  let store: ConfigurationStore | undefined
  let watch: Watch | undefined
  let receivers: Receivers | undefined
  try {
    // Configurations that call the gateway itself find the port that flags and settings came to.
    const env = { ...process.env, PLANTGW_PORT: String(settings.port) }
    const { storage } = settings
    const folders = storage?.type === 'directory' ? [storage.path] : []
    if (paths.length + folders.length === 0) store = await openStore(storage!, env)
    const files = paths.length ? paths : folders
    const watched = store && watchStore(store, { poll: storage?.poll ?? 0, log })
    const source = watched?.source ?? files
    const onTable = (table: Table) => receivers?.follow(table)
    const options = { paths: source, settings, env, log, version: VERSION, skipInvalid, onTable }
    if (flags.printRoutes) return await printRoutes(options)
    watch = watched
    if (!store && settings.watch) watch = await watchFiles(files, { env, log })
    const { gateway, findings, sources } = await createGateway(options)
    if (findings.length) printFindings(findings, sources)
    if (!gateway) return 1
    const listening = await listen(gateway, settings)
    const { port } = listening.server.address() as AddressInfo
    log.info({ host: settings.host, port, prefixes: [...gateway.table().routes.keys()] }, 'listening')
    const ended = untilSignal(log)
    const reloads = watchReloads(gateway, settings, hangUps)
    watch?.start((trigger) => gateway.reloads.request(trigger))
    receivers = createReceivers(settings.notifier, gateway.reloads.request, log)
    receivers.follow(gateway.table())
    process.stdout.write(banner(gateway.table(), settings, port))
    await ended
    reloads.stop()
    receivers.close()
    await watch?.close()
    endAtOnce(removePid)
    await drain(listening, gateway)
    return 0
  } finally {
    receivers?.close()
    await watch?.close()
    await store?.close()
    removePid()
    log.flush?.()
  }
}

async function printRoutes(options: GatewayOptions): Promise<number> {
  const { table, findings, sources } = await previewTable(options)
  if (findings.length) printFindings(findings, sources)
  process.stdout.write(printedRoutes(table))
  return hasErrors(findings) ? 1 : 0
}

const LISTEN_ADVICE: Record<string, (port: number, host: string) => string> = {
  EADDRINUSE: (port, host) =>
    `port ${port} on ${host} is in use: stop the process that uses it, or choose another --port`,
  EADDRNOTAVAIL: (_, host) => `this machine has no address ${host}: choose another --host`,
  EACCES: (port) => `port ${port} is not allowed for this user: choose a --port above 1023`,
  ENOTFOUND: (_, host) => `cannot resolve the host name ${host}: choose another --host`,
}

/** Answers a request whose answer could not be sent as it was. */
function errorHandler(error: unknown): Response {
  unexpected('an answer')(error)
  return Response.json({ error: 500, message: 'Internal error' }, { status: 500 })
}

function listen(gateway: Gateway, { port, host, limits }: Settings): Promise<Guarded> {
  const handle = getRequestListener(gateway.app.fetch, { errorHandler })
  const { server, sockets } = guardedServer((request, response) => {
    Promise.resolve(handle(request, response)).catch(unexpected('a request', () => response.destroy()))
  }, limits)
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      gateway.close().catch(unexpected('the end of the gateway'))
      const advise = LISTEN_ADVICE[error.code ?? '']
      reject(advise ? new Error(`${advise(port, host)}`) : error)
    })
    server.listen(port, host, () => resolve({ server, sockets }))
  })
}

interface HangUps {
  /** Calls `then` with the name of every such signal from now on, and once for those that came before. */
  listen(then: (signal: string) => void): void
}

function catchHangUps(): HangUps {
  let early: string | undefined
  let listener = (signal: string) => {
    early = signal
  }
  for (const signal of RELOAD_SIGNALS) process.on(signal, () => listener(signal))
  return {
    listen(then) {
      listener = then
      if (early) then(early)
    },
  }
}

/** Reloads on a signal and, when the settings say so, at every interval. */
function watchReloads(gateway: Gateway, settings: Settings, hangUps: HangUps): { stop: () => void } {
  let stopped = false
  // What came of it, also that it failed, is in the log.
  const reload = (trigger: string) => {
    if (!stopped) gateway.reloads.request(trigger).catch(() => {})
  }
  hangUps.listen(reload)
  const interval = () => reload('interval')
  const timer = settings.reload_switch ? setInterval(interval, settings.reload_interval) : undefined
  return {
    // The handler of SIGHUP stays: without one the signal would end the process in the middle of its calls.
    stop() {
      stopped = true
      clearInterval(timer)
    },
  }
}

function untilSignal(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    const end = (signal: string) => {
      log.info({ signal }, 'shutting down; waiting for calls in flight')
      process.off('SIGTERM', end)
      process.off('SIGINT', end)
      resolve()
    }
    process.on('SIGTERM', end)
    process.on('SIGINT', end)
  })
}

/** A second signal does not wait for the calls in flight. */
function endAtOnce(removePid: () => void): void {
  const end = () => {
    removePid()
    process.exit(1)
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
}

/** Milliseconds for calls in flight at the end: more than an upstream call takes by default. */
const DRAIN_LIMIT = 35_000

/** Takes no new connections, lets calls in flight finish, then closes what is left. */
async function drain({ server, sockets }: Guarded, gateway: Gateway): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // What comes yet on a connection is answered, and is the last there.
  server.prependListener('request', (_, response) => {
    response.shouldKeepAlive = false
  })
  // Connections become idle one by one as their calls end, and nothing tells when.
  const sweep = setInterval(() => {
    server.closeIdleConnections()
    // One that has brought no request yet is idle to nobody but us.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }, 20)
  const limit = setTimeout(() => server.closeAllConnections(), DRAIN_LIMIT)
  // Streams would hold their connections open for ever.
  await gateway.hub.drain()
  await closed
  clearInterval(sweep)
  clearTimeout(limit)
  await gateway.close()
}
