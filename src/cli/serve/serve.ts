import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Command, Option } from 'commander'
import type { Guarded } from '../../access/connection-limits.ts'
import { withOneEndpoint } from '../../build/one-endpoint.ts'
import { fromPaths } from '../../build/source.ts'
import type { Reload, Table } from '../../build/types.ts'
import type { Env, Settings, SettingsFlags } from '../../config/index.ts'
import { hasErrors } from '../../findings/index.ts'
import { takePidFile, writeReload } from '../../notify/pidfile.ts'
import type { ReloadAnswer } from '../../notify/reload-answer.ts'
import { createGateway, type Gateway, type GatewayOptions } from '../../server/gateway.ts'
import { previewTable } from '../../server/live.ts'
import { createReceivers, type Receivers } from '../../server/receivers.ts'
import { watchFiles } from '../../server/watch-files.ts'
import { watchStore } from '../../server/watch-store.ts'
import { openStore } from '../../store/index.ts'
import { createLog, type Logger, logStream } from '../../telemetry/log.ts'
import { watchEventLoop } from '../../telemetry/loop-delay.ts'
import { catchUnexpected } from '../../telemetry/unexpected.ts'
import { currentEnvironment } from '../env-files.ts'
import { failureOf, printFindings } from '../output.ts'
import { ownCommand, VERSION } from '../own-command.ts'
import { loadSettings, settingsOption, usualPaths } from '../settings.ts'
import { banner, printedRoutes, refusal, warnOfOpen } from './banner.ts'
import { drain } from './drain.ts'
import { boundText, endListener, listen, mustBeFree } from './listener.ts'
import { watchOpenFiles } from './open-files.ts'
import {
  drainTimeout,
  type Reached,
  reachStdio,
  type Stdio,
  takeOutput,
  withoutPorts,
} from './reach-stdio.ts'
import { catchEnds, catchHangUps, onHangUps } from './signals.ts'
import { type ServiceManager, serviceManager } from './systemd.ts'
import { type ListenerTls, openTls } from './tls.ts'
import { type Listening, Pool, workerCount } from './workers.ts'

interface ServeFlags extends SettingsFlags {
  settings?: string
  skipInvalid?: boolean
  printRoutes?: boolean
  quiet?: boolean
  stdio?: boolean
  prefix?: string
}

/** The setting of the address, for messages. */
const LISTEN_FLAGS = '--host and --port'

export function serveCommand(exit: (code: number) => void): Command {
  return new Command('serve')
    .description('Serve configurations as MCP endpoints until SIGTERM or SIGINT; SIGHUP reloads them.')
    .argument(
      '[paths...]',
      'configuration files or folders (default: the `storage` of the settings, else configs/)',
    )
    .addOption(settingsOption('settings file'))
    .option('-p, --port <number>', 'port to listen on (default 5235)')
    .option('--host <address>', 'address to listen on (default 127.0.0.1)')
    .option('--allow-unauthenticated', 'let other machines use routers without `auth`')
    .option('--pid <file>', 'write the process id to this file')
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent (default info)')
    .option('--log-format <format>', 'json or pretty (default: pretty on a terminal)')
    .option('-q, --quiet', 'log only warnings and errors, and print no overview')
    .option('--reload-interval <duration>', 'interval of --reload-switch (default 600s)')
    .option('--reload-switch', 'reload the configurations at every --reload-interval')
    .option('--watch', 'reload when configuration files change')
    .option('--workers <number>', 'processes that serve, or `auto` for one on each core (default 1)')
    .option('--skip-invalid', 'serve the valid configurations even if others have errors')
    .addOption(
      new Option('--stdio', 'serve one MCP client on standard input and output instead of HTTP').conflicts([
        'port',
        'host',
        'allowUnauthenticated',
        'printRoutes',
      ]),
    )
    .option('--prefix <prefix>', 'serve only this prefix with --stdio')
    .option('--print-routes', 'print the routes that would be served, and exit')
    .action(async (paths: string[], flags: ServeFlags) => exit(await serve(paths, flags)))
}

/** Serves until a signal ends it; returns the exit code. */
async function serve(given: readonly string[], flags: ServeFlags): Promise<number> {
  if (flags.prefix !== undefined && !flags.stdio)
    throw new Error('--prefix chooses what --stdio serves: add --stdio')
  const output = flags.stdio ? takeOutput() : undefined
  const { settings: read, code } = loadSettings(flags.settings, flags)
  if (!read) return code
  const settings = output ? withoutPorts(read, flags) : read

  const paths = given.length || settings.storage ? given : usualFolder(settings, flags)
  if (output && (flags.workers ?? process.env.PLANTGW_WORKERS ?? '1') !== '1')
    throw new Error('--stdio serves one client by one process: leave out --workers and PLANTGW_WORKERS')
  const logger = flags.quiet ? { ...settings.logger, level: atLeastWarn(settings) } : settings.logger
  const stream = logStream(logger)
  const log = await createLog({ ...logger, stream })
  catchUnexpected(log)
  const isShared = !output && !flags.printRoutes && workerCount(settings) > 1
  const pool = isShared
    ? new Pool({ settings: { ...settings, logger }, version: VERSION, log, stream })
    : undefined
  if (!flags.printRoutes && !output) await mustBeFree(settings, LISTEN_FLAGS)
  // Register early: by default a signal would end the process and leave resources behind.
  catchHangUps()
  const signals = catchEnds()
  const held: Held = []
  const removePid = settings.pid === undefined || flags.printRoutes ? () => {} : takePidFile(settings.pid)
  signals.onSecond = removePid
  try {
    const started = start({
      paths,
      settings,
      log,
      flags,
      held,
      pool,
      stdio: output && { output, cut: signals.end },
    })
    let code = 0
    const ended = signals.end.then((signal) => ({ signal }))
    const first = await Promise.race([started, ended])
    if ('code' in first) return first.code === 1 ? failureOf(paths) : first.code
    if ('signal' in first) {
      log.info(first, 'shutting down before the start was complete')
      started.catch(() => {})
    } else {
      const over = [first.over, pool?.failure].filter((one) => one !== undefined)
      const signal = await Promise.race([signals.end, ...over]).catch((error: Error) => {
        process.stderr.write(`plantgw: ${error.message}\n`)
        code = 2
        return undefined
      })
      const again = signal === 'SIGINT' ? '; press Ctrl-C again to end at once' : ''
      log.info({ ...(signal && { signal }) }, `shutting down; waiting for calls in flight${again}`)
      await first.end(signal)
    }
    // Milliseconds allowed for closing connections, children and stores: longer than the children's grace.
    await Promise.race([letGo(held), pause(5_000)])
    removePid()
    log.flush?.()
    // Pending work, such as an unresponsive database, would keep the process alive.
    return process.exit(code)
  } finally {
    await letGo(held)
    removePid()
    log.flush?.()
  }
}

/** @throws Error if there is no `configs/` */
function usualFolder(settings: Settings, { quiet }: ServeFlags): string[] {
  const paths = usualPaths(settings)
  if (paths.length === 0)
    throw new Error(
      'give configuration files or folders, or settings with a `storage`; or write a first configuration with `plantgw init`',
    )
  if (!quiet) process.stderr.write(`plantgw: no paths are given: serving ${paths.join()}/\n`)
  return paths
}

function atLeastWarn({ logger: { level } }: Settings): Settings['logger']['level'] {
  return level === 'error' || level === 'silent' ? level : 'warn'
}

/** Closers of acquired resources; the last is called first. */
type Held = (() => unknown)[]

async function letGo(held: Held): Promise<void> {
  for (let close = held.pop(); close; close = held.pop()) await close()
}

interface Start {
  paths: readonly string[]
  settings: Settings
  log: Logger
  flags: ServeFlags
  /** Receives the closers of resources acquired by the start. */
  held: Held
  /** Absent: this process serves. */
  pool: Pool | undefined
  stdio: Stdio | undefined
}

interface Started extends Pick<Reached, 'over'> {
  end(signal: string | undefined): Promise<void>
}

/** Prints findings. @returns the exit code if they prevent serving */
function reportFindings({ gateway, findings, sources }: Awaited<ReturnType<typeof createGateway>>): number {
  const open = gateway ? [] : findings.filter(({ code }) => code === 'open-router')
  const others = open.length ? findings.filter(({ code }) => code !== 'open-router') : findings
  if (others.length) printFindings(others, sources)
  if (open.length) process.stderr.write(refusal(open))
  return open.length ? 2 : 1
}

/** @returns a function that ends it, once it serves; or an exit code */
async function start({
  paths,
  settings,
  log,
  flags,
  held,
  pool,
  stdio,
}: Start): Promise<{ code: number } | Started> {
  const readEnv = currentEnvironment(settings, log)
  const env = readEnv()
  const { storage } = settings
  const folders = storage?.type === 'directory' ? [storage.path] : []
  const store = paths.length + folders.length ? undefined : await openStore(storage!, env)
  if (store) held.push(() => store.close())
  const files = paths.length ? paths : folders
  const watched = store && watchStore(store, { poll: storage?.poll ?? 0, log })
  const given = watched?.source ?? files
  const source =
    stdio && flags.prefix === undefined
      ? withOneEndpoint(typeof given === 'function' ? given : fromPaths(given), { ...settings, log })
      : given
  let receivers: Receivers | undefined
  const onTable = (table: Table) => receivers?.follow(table)
  const { skipInvalid = false } = flags
  const connections = () => [
    ...(watched ? [{ to: 'store' as const, label: store.label, up: watched.isUp() }] : []),
    ...(receivers?.connections() ?? []),
  ]
  const tls = settings.tls && !flags.printRoutes && !pool ? openTls(settings.tls, log) : undefined
  if (tls) held.push(tls.close)
  const onReload = () => (pool ?? tls)?.refresh()
  const hooks = { onTable, onReload, connections }
  const options = {
    paths: source,
    settings,
    env,
    readEnv,
    log,
    version: VERSION,
    skipInvalid,
    ...hooks,
    store,
    ...(pool && { workers: pool }),
  }
  if (flags.printRoutes) return { code: await printRoutes(options) }
  const watch = watched ?? (settings.watch ? await watchFiles(files, { env, log }) : undefined)
  if (watch) held.push(() => watch.close())
  const made = await createGateway(options)
  const { gateway } = made
  if (gateway) held.push(() => gateway.close())
  const code = reportFindings(made)
  if (!gateway) return { code }
  // From now on clients may be waiting.
  held.push(watchEventLoop(log, gateway.onLoopDelay))
  const reached = stdio
    ? reachStdio(gateway, { ...stdio, prefix: flags.prefix, settings, log })
    : await reachHttp(gateway, { settings, flags, log, held, tls, pool, env })
  gateway.startServers()
  const manager = serviceManager(process.env, log)
  manager.ready()
  const reloads = watchReloads(gateway, settings, manager)
  watch?.start((trigger) => gateway.reloads.request(trigger))
  const own = createReceivers(settings.notifier, gateway.reloads.request, log)
  receivers = own
  held.push(() => own.close())
  own.follow(gateway.table())
  reached.announce?.()
  return {
    ...(reached.over && { over: reached.over }),
    async end(signal) {
      reloads.stop()
      manager.stopping()
      own.close()
      await watch?.close()
      await reached.drain(signal)
    },
  }
}

/** Listens for HTTP clients. */
async function reachHttp(
  gateway: Gateway,
  {
    settings,
    flags,
    log,
    held,
    tls,
    pool,
    env,
  }: Pick<Start, 'settings' | 'flags' | 'log' | 'held' | 'pool'> & { tls: ListenerTls | undefined; env: Env },
): Promise<Reached> {
  warnOfOpen(gateway.table(), settings, log)
  const { admin, host } = settings
  const pages = await listenForPages(gateway, settings, held, pool)
  if (pool) {
    held.push(() => pool.close())
    await pool.start(gateway, env)
  }
  const listening = pool
    ? await pool.listen(gateway, LISTEN_FLAGS)
    : await listenHere(gateway, settings, log, tls)
  const { port } = listening
  gateway.ownAddresses.add(listening.address)
  log.info(
    {
      host,
      port,
      ...(pages && admin?.listen && { admin: boundText(pages, admin.listen) }),
      ...(pool && { workers: workerCount(settings) }),
      prefixes: [...gateway.table().routes.keys()],
    },
    'listening',
  )
  return {
    announce() {
      // The reader of an audit log on standard output expects nothing else.
      const out = settings.audit?.to === 'stdout' ? process.stderr : process.stdout
      if (!flags.quiet)
        out.write(
          banner(gateway.table(), settings, port, {
            ...flags,
            ...(settings.admin?.token !== undefined && { code: gateway.console.logins.code() }),
            command: ownCommand('.'),
          }),
        )
    },
    drain(signal) {
      // Ctrl-C is interactive: no load balancer has to notice first.
      const grace = signal === 'SIGINT' ? 0 : settings.drain.grace
      return listening.drain({ grace, timeout: drainTimeout(settings) })
    },
  }
}

async function listenHere(
  gateway: Gateway,
  settings: Settings,
  log: Logger,
  tls: ListenerTls | undefined,
): Promise<Listening> {
  const listening = await listen(gateway.app, settings, settings.limits, LISTEN_FLAGS, tls)
  watchOpenFiles(listening.server, () => listening.connections.size, log)
  const address = listening.server.address() as AddressInfo
  return { address, port: address.port, drain: (limits) => drain(listening, gateway, limits) }
}

/** Listens at `admin.listen`; undefined: the main listener has the admin routes. */
async function listenForPages(
  { adminApp, ownAddresses }: Gateway,
  { admin, limits }: Settings,
  held: Held,
  pool: Pool | undefined,
): Promise<Guarded | undefined> {
  if (!adminApp || !admin?.listen) return undefined
  const pages = await listen(adminApp, admin.listen, limits, 'admin.listen')
  held.push(() => endListener(pages))
  if (admin.listen.path === undefined) {
    const address = pages.server.address() as AddressInfo
    ownAddresses.add(address)
    pool?.ownAddress(address)
  }
  return pages
}

async function printRoutes(options: GatewayOptions): Promise<number> {
  const { table, findings, sources } = await previewTable(options)
  if (findings.length) printFindings(findings, sources)
  process.stdout.write(printedRoutes(table))
  return hasErrors(findings) ? 1 : 0
}

function shownErrors({ findings }: Reload) {
  const errors = findings.filter(({ severity }) => severity === 'error').slice(0, 20)
  return errors.map(({ severity, file, message }) => ({ severity, file, message }))
}

/** Reloads on signals and, if configured, at intervals. */
function watchReloads(gateway: Gateway, settings: Settings, manager: ServiceManager): { stop: () => void } {
  let stopped = false
  // The result or failure is logged.
  const reload = (trigger: string) => (stopped ? undefined : gateway.reloads.request(trigger))
  onHangUps((signal) => {
    manager.reloading()
    const began = Date.now()
    const write = (result: ReloadAnswer) => {
      if (settings.pid !== undefined) writeReload(settings.pid, { ...result, began })
      manager.ready()
    }
    const failed = ({ message }: Error) => write({ findings: [{ severity: 'error', message }] })
    reload(signal)?.then((made) => write({ ...made, findings: shownErrors(made) }), failed)
  })
  const interval = () => void reload('interval')?.catch(() => {})
  const timer = settings.reload_switch ? setInterval(interval, settings.reload_interval) : undefined
  return {
    // The SIGHUP handler stays: without it, the signal would end the process during its calls.
    stop() {
      stopped = true
      clearInterval(timer)
    },
  }
}
