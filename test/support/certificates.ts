import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** For `skip` of a test: the reason when certificates cannot be made here, else false. */
export const skipWithoutOpenssl: string | false = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'needs openssl to make certificates'
  }
})()

export interface Certificate {
  /** PEM. */
  key: string
  cert: string
  /** Path of `cert`, for NODE_EXTRA_CA_CERTS. */
  file: string
}

const DAY = 86_400_000
const CONFIG = `[ca]
default_ca = own
[own]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
x509_extensions = ext
[any]
commonName = supplied
[ext]
subjectAltName = DNS:localhost
`

/** A self-signed certificate for `localhost`, made in a folder, that ends in so many days from now; negative: ended. */
export function selfSigned(folder: string, name: string, days: number): Certificate {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'ca.cnf'), CONFIG)
  writeFileSync(join(cwd, 'index.txt'), '')
  writeFileSync(join(cwd, 'serial'), '01\n')
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd, stdio: 'pipe' })
  openssl(
    ...['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', 'key.pem', '-out', 'csr.pem', '-subj', '/CN=localhost'],
  )
  openssl(
    ...['ca', '-batch', '-selfsign', '-notext', '-config', 'ca.cnf', '-keyfile', 'key.pem'],
    ...['-in', 'csr.pem', '-out', 'cert.pem'],
    ...['-startdate', when(-100), '-enddate', when(days)],
  )
  const read = (file: string) => readFileSync(join(cwd, file), 'utf8')
  return { key: read('key.pem'), cert: read('cert.pem'), file: join(cwd, 'cert.pem') }
}

export interface Authority {
  /** PEM. */
  cert: string
  /** Path of `cert`. */
  file: string
  /** A certificate of this subject, for one host name or address. */
  issue(name: string, host?: string): Certificate
}

/** An authority of certificates, in a folder of its own. */
export function authority(folder: string, name: string): Authority {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd, stdio: 'pipe' })
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const read = (file: string) => readFileSync(join(cwd, file), 'utf8')
  openssl(
    ...[
      'req',
      '-x509',
      ...fresh,
      '-days',
      '10',
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-subj',
      `/CN=${name}`,
    ],
  )
  return {
    cert: read('ca.crt'),
    file: join(cwd, 'ca.crt'),
    issue(subject, host = 'DNS:localhost') {
      const [key, csr, crt] = ['key', 'csr', 'crt'].map((end) => `${subject}.${end}`) as [
        string,
        string,
        string,
      ]
      openssl('req', '-new', ...fresh, '-keyout', key, '-out', csr, '-subj', `/CN=${subject}`)
      writeFileSync(join(cwd, 'ext.cnf'), `subjectAltName = ${host}\n`)
      openssl(
        ...['x509', '-req', '-in', csr, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '5'],
        ...['-extfile', 'ext.cnf', '-out', crt],
      )
      return { key: read(key), cert: read(crt), file: join(cwd, crt) }
    },
  }
}

/** As openssl writes dates: `20260131120000Z`. */
function when(days: number): string {
  const iso = new Date(Date.now() + days * DAY).toISOString()
  return `${iso.slice(0, 19).replace(/\D/g, '')}Z`
}
