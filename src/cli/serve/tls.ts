import type { SecureContextOptions } from 'node:tls'
import { networkOf } from '../../access/quota.ts'
import { readTls, type TlsFault, type TlsFiles } from '../../net/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import { seldom } from '../../telemetry/seldom.ts'

/** The listener's certificate from its files. It holds a timer, so close it. */
export interface ListenerTls {
  readonly context: SecureContextOptions
  readonly clientCertificates: boolean
  /** Reads the files again, for new connections. A bad file is logged, and the previous certificate stays. */
  refresh(): void
  /** Logs a failed handshake, such as one without a client certificate. */
  refused(address: string | undefined, code: string | undefined): void
  /** Registers a callback for every new context. */
  onRenewal(renew: (context: SecureContextOptions) => void): void
  close(): void
}

/** Milliseconds between checks of the files, as renewal tools do not notify. */
const LOOK = 30_000

/** Minimum milliseconds between two identical lines. */
const REPEAT = 60_000

/** @throws Error if the files are unusable */
export function openTls(files: TlsFiles, log: Logger): ListenerTls {
  const first = readTls(files)
  if (!first.context) throw new Error(`tls: ${saidOf(first.faults)}`)
  if (first.faults.length) log.warn({ reason: saidOf(first.faults) }, 'clients will refuse the certificate')
  let served = first.context
  let renew = (_: SecureContextOptions) => {}
  let said = ''

  function refresh(): void {
    const { context, faults } = readTls(files)
    const fault = saidOf(faults)
    if (context && isSame(context, served)) {
      said = ''
    } else if (context && !fault) {
      served = context
      said = ''
      renew(context)
      log.info({ cert: files.cert }, 'the certificate was renewed')
    } else if (fault !== said) {
      said = fault
      log.error({ reason: fault }, 'a file of `tls` is bad; the certificate that was served stays')
    }
  }
  const say = seldom(REPEAT, (line: { address: string | undefined; code: string | undefined }, left) =>
    log.info({ ...line, ...left }, 'no TLS connection: the handshake failed'),
  )
  const timer = setInterval(refresh, LOOK).unref()
  return {
    get context() {
      return served
    },
    clientCertificates: files.clientCa !== undefined,
    refresh,
    onRenewal(then) {
      renew = then
    },
    refused: (address, code) => say(JSON.stringify([networkOf(address ?? ''), code]), { address, code }),
    close: () => clearInterval(timer),
  }
}

function saidOf(faults: readonly TlsFault[]): string {
  return faults.map(({ message }) => message).join('; ')
}

function isSame(one: SecureContextOptions, other: SecureContextOptions): boolean {
  return one.cert === other.cert && one.key === other.key && one.ca === other.ca
}
