import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'

/** Paths of PEM files. */
export interface TlsFiles {
  /** The certificate, followed by those of the authorities between it and the root. */
  cert: string
  key: string
  /** Authorities of which clients must have a certificate; absent: they need none. */
  clientCa?: string
}

/** What is wrong with a file. */
export interface TlsFault {
  member: keyof TlsFiles
  /** A sentence without a full stop that names the file; never a part of a key. */
  message: string
  hint: string
  /** Only its time is over or has not come: it can be served, and clients refuse it. */
  isOfTime?: boolean
}

export interface ReadTls {
  /** Of a context; undefined where a fault keeps it from being made. */
  context: SecureContextOptions | undefined
  faults: TlsFault[]
}

/** Bytes; a list of every authority of an operating system has a quarter of that. */
const MAX_FILE = 1024 * 1024
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const WHY: Record<string, string> = { ENOENT: 'no such file', EACCES: 'this user may not read it' }

/** Reads and checks the files of a TLS listener. Never throws. */
export function readTls(files: TlsFiles, now: number = Date.now()): ReadTls {
  const faults: TlsFault[] = []
  const report = (member: keyof TlsFiles, message: string, hint: string, isOfTime = false) =>
    void faults.push({ member, message, hint, ...(isOfTime && { isOfTime }) })

  function read(member: keyof TlsFiles): string | undefined {
    const path = files[member]
    if (path === undefined) return undefined
    try {
      if (statSync(path).size <= MAX_FILE) return readFileSync(path, 'utf8')
      report(member, `${path} has more than 1 MiB`, 'Name a PEM file')
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      report(
        member,
        `cannot read ${path}: ${WHY[code] ?? message}`,
        'Correct the path, or the rights of the file',
      )
    }
    return undefined
  }

  function certificates(member: 'cert' | 'clientCa', text: string): X509Certificate[] | undefined {
    try {
      const found = [...text.matchAll(CERTIFICATE)].map(([pem]) => new X509Certificate(pem))
      if (found.length > 0) return found
    } catch {
      // Told below.
    }
    report(
      member,
      `${files[member]} holds no certificate in PEM form`,
      'It begins with `-----BEGIN CERTIFICATE-----`',
    )
    return undefined
  }

  function checkTime(member: 'cert' | 'clientCa', { validFrom, validTo }: X509Certificate): void {
    const path = files[member]
    if (Date.parse(validTo) < now)
      report(member, `the certificate of ${path} expired on ${validTo}`, 'Renew it', true)
    else if (Date.parse(validFrom) > now)
      report(member, `the certificate of ${path} is not valid before ${validFrom}`, 'Check the clock', true)
  }

  const [cert, key, ca] = [read('cert'), read('key'), read('clientCa')]
  const [leaf] = (cert !== undefined && certificates('cert', cert)) || []
  const authorities = ca === undefined ? [] : certificates('clientCa', ca)
  const own = key === undefined ? undefined : privateKey(key)
  if (key !== undefined && !own)
    report(
      'key',
      `${files.key} holds no private key in PEM form without a passphrase`,
      'Write the key as PKCS #8, such as by `openssl pkey`',
    )
  if (leaf && own && !leaf.checkPrivateKey(own))
    report(
      'key',
      `${files.key} is not the key of the certificate ${files.cert}`,
      'Name the key that belongs to it; the certificate of the server comes first in its file',
    )
  if (leaf) checkTime('cert', leaf)
  for (const authority of authorities ?? []) checkTime('clientCa', authority)
  if (cert === undefined || key === undefined || faults.some(({ isOfTime }) => !isOfTime))
    return { context: undefined, faults }
  const context = { cert, key, ...(ca !== undefined && { ca }), minVersion: 'TLSv1.2' as const }
  try {
    createSecureContext(context)
    return { context, faults }
  } catch (error) {
    report(
      'cert',
      `${files.cert} cannot be used: ${(error as Error).message}`,
      'Make a new certificate and key',
    )
    return { context: undefined, faults }
  }
}

function privateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
