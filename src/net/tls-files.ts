import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'

/** Paths of PEM files. */
export interface TlsFiles {
  /** The certificate, followed by intermediate certificates. */
  cert: string
  key: string
  /** Authorities that must have signed the clients' certificates; absent: clients need no certificate. */
  clientCa?: string
}

/** An error in a file, or in inline PEM text. */
export interface TlsFault<Member extends string = keyof TlsFiles> {
  member: Member
  /** A sentence without a full stop that names the file. It holds no part of a key. */
  message: string
  hint: string
  /** Whether the certificate is outside its validity period: the gateway uses it, but peers refuse it. */
  isOfTime?: boolean
}

interface ReadTls {
  /** Context options; undefined if a fault prevents them. */
  context: SecureContextOptions | undefined
  faults: TlsFault[]
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const WHY: Record<string, string> = { ENOENT: 'no such file', EACCES: 'this user may not read it' }

/** Reads and checks the files of a TLS listener. Never throws. */
export function readTls(files: TlsFiles, now: number = Date.now()): ReadTls {
  const { faults, ...made } = readPems({ ...files, ca: files.clientCa }, 'clientCa', now)
  const context = made.context && { ...made.context, minVersion: 'TLSv1.2' as const }
  return { context, faults: faults as TlsFault[] }
}

/** TLS settings of an upstream: PEM text, or the absolute path of a PEM file. */
interface ClientTlsSettings {
  /** CA certificates for the server. Default: those of Node.js. */
  ca?: string
  cert?: string
  key?: string
  /** Name sent to the server (SNI), which its certificate must hold. Default: the host of the URL. */
  serverName?: string
}

/** TLS options of connections to a server. */
export interface ClientTls {
  /** Equal for the same identity and authorities, without revealing them. Connections with the same key are shared. */
  key: string
  context: SecureContext
  serverName?: string | undefined
  isIdentity: boolean
  /** Settings without the client certificate, for other origins after a redirect. */
  elsewhere?: ClientTls | undefined
}

/** Whether a value of `tls` is PEM text, not the path of a file. */
export function isPem(text: string): boolean {
  return text.trimStart().startsWith('-----BEGIN ')
}

/** Reads and checks the TLS files of a client. Never throws. */
export function readClientTls(
  given: ClientTlsSettings,
  now: number = Date.now(),
): { tls: ClientTls | undefined; faults: TlsFault<'ca' | 'cert' | 'key'>[] } {
  const { context, faults } = readPems(given, 'ca', now)
  return {
    tls: context && clientTls(context, given.serverName),
    faults: faults as TlsFault<'ca' | 'cert' | 'key'>[],
  }
}

function clientTls(pems: Pems, serverName: string | undefined): ClientTls {
  const { ca, cert, key } = pems
  const isIdentity = cert !== undefined
  const made: ClientTls = {
    key: createHash('sha256')
      .update(JSON.stringify([ca, cert, key, serverName]))
      .digest('base64url'),
    context: createSecureContext(pems),
    serverName,
    isIdentity,
  }
  if (ca !== undefined) made.elsewhere = isIdentity || serverName ? clientTls({ ca }, undefined) : made
  return made
}

/** PEM texts. */
interface Pems {
  cert?: string
  key?: string
  ca?: string
}

/** @param ca the member with the CA certificates */
function readPems(
  given: Readonly<Record<keyof Pems, string | undefined>> | Pems,
  caMember: 'ca' | 'clientCa',
  now: number,
): { context: Pems | undefined; faults: TlsFault<'ca' | 'clientCa' | 'cert' | 'key'>[] } {
  const faults: TlsFault<'ca' | 'clientCa' | 'cert' | 'key'>[] = []
  const memberOf = (pem: keyof Pems) => (pem === 'ca' ? caMember : pem)
  const report = (pem: keyof Pems, message: string, hint: string, isOfTime = false) =>
    void faults.push({ member: memberOf(pem), message, hint, ...(isOfTime && { isOfTime }) })
  /** Name in messages: the path of the file, or the member for PEM text, which must not be shown. */
  const nameOf = (pem: keyof Pems) => (isPem(given[pem] ?? '') ? `\`${memberOf(pem)}\`` : given[pem])

  function read(pem: keyof Pems): string | undefined {
    const path = given[pem]
    if (path === undefined || isPem(path)) return path
    try {
      // 1 MiB: the list of all authorities of an operating system has a quarter of that.
      if (statSync(path).size <= 1024 * 1024) return readFileSync(path, 'utf8')
      report(pem, `${path} has more than 1 MiB`, 'Name a PEM file')
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      const hint = 'Correct the path, or the rights of the file'
      report(pem, `cannot read ${path}: ${WHY[code] ?? message}`, hint)
    }
    return undefined
  }

  function certificates(pem: 'cert' | 'ca', text: string | undefined): X509Certificate[] {
    if (text === undefined) return []
    try {
      const found = [...text.matchAll(CERTIFICATE)].map(([one]) => new X509Certificate(one))
      if (found.length > 0) return found
    } catch {
      // Reported below.
    }
    const hint = 'It begins with `-----BEGIN CERTIFICATE-----`'
    report(pem, `${nameOf(pem)} holds no certificate in PEM form`, hint)
    return []
  }

  function checkTime(pem: 'cert' | 'ca', { validFrom, validTo }: X509Certificate): void {
    const name = nameOf(pem)
    if (Date.parse(validTo) < now)
      report(pem, `the certificate of ${name} expired on ${validTo}`, 'Renew it', true)
    else if (Date.parse(validFrom) > now)
      report(pem, `the certificate of ${name} is not valid before ${validFrom}`, 'Check the clock', true)
  }

  const [cert, key, ca] = [read('cert'), read('key'), read('ca')]
  const [leaf] = certificates('cert', cert)
  const authorities = certificates('ca', ca)
  const own = key === undefined ? undefined : privateKey(key)
  if (key !== undefined && !own)
    report(
      'key',
      `${nameOf('key')} holds no private key in PEM form without a passphrase`,
      'Write the key as PKCS #8, such as by `openssl pkey`',
    )
  if (leaf && own && !leaf.checkPrivateKey(own))
    report(
      'key',
      `${nameOf('key')} is not the key of the certificate ${nameOf('cert')}`,
      'Name the key that belongs to it; the certificate of the owner comes first in its file',
    )
  if (leaf) checkTime('cert', leaf)
  for (const authority of authorities) checkTime('ca', authority)
  if (faults.some(({ isOfTime }) => !isOfTime)) return { context: undefined, faults }
  const context = {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
  }
  const fault = contextFault(context)
  if (fault === undefined) return { context, faults }
  const pem = cert === undefined ? 'ca' : 'cert'
  report(pem, `${nameOf(pem)} cannot be used: ${fault}`, 'Make a new certificate and key')
  return { context: undefined, faults }
}

/** OpenSSL's error for certificates and a key; undefined: they are valid. */
function contextFault(pems: Pems): string | undefined {
  try {
    createSecureContext(pems)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function privateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
