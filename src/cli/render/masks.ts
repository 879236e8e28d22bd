import type { Env } from '../../config/index.ts'
import { secretValues } from '../../config/secret-files.ts'
import type { Secrets } from '../../template/index.ts'
import { isSecretHeader, isSecretName } from '../../text/index.ts'
import type { UpstreamRequest } from '../../tools/index.ts'
import { SHOWN } from '../../tools/mask.ts'

/** Values that are never secret; masking them would hide too much. */
const HARMLESS = /^(?:true|false|null|none)?$|^https?:\/\/[^@?]*$/is
/** Shorter ones are masked where a template reads them, but not elsewhere. */
const SHORTEST = 4

type Values = Readonly<Record<string, string>>

/** Values that templates must not show: secrets by name. @param config of the server, as rendered */
export function hiddenOf(config: Values): Secrets {
  const names = new Set(
    Object.keys(config).filter((name) => isSecretName(name) && !HARMLESS.test(config[name]!)),
  )
  return {
    isSecret([root, name, header]) {
      if (root === undefined) return true
      if (root === 'Config') return name === undefined ? names.size > 0 : names.has(name)
      if (root !== 'Request') return false
      if (name === 'Headers') return header === undefined || isSecretHeader(header)
      return name === undefined || name === 'Cookies'
    },
    isSecretVariable: (name) => name === undefined || isSecretName(name),
  }
}

/** Secrets by name: in the server's `config`, in environment variables named in the file, and in secret files. */
export function secretsOf(source: string, config: Values, env: Env): string[] {
  const variables = Object.entries(env).filter(([name]) => source.includes(name))
  const named = [...Object.entries(config), ...variables].filter(([name]) => isSecretName(name))
  const values = [...named.map(([, value]) => value), ...secretValues(env, (name) => source.includes(name))]
  return values.flatMap((value) => {
    if (value === undefined) return []
    // `Bearer abc` is a secret, and so is `abc` alone.
    const parts = [value, value.replace(/^\w+\s+/, '')]
    return parts.filter((part) => part.length >= SHORTEST && !HARMLESS.test(part))
  })
}

/**
 * A request to show: URL and body as rendered without secrets, or hidden; headers unless they are secret by name or
 * value.
 * @param hidden the request rendered without secrets, if possible
 */
export function withoutSecrets(sent: UpstreamRequest, hidden: UpstreamRequest | undefined): UpstreamRequest {
  const { origin, path, headers: masked, body } = hidden ?? { ...sent, path: `/${SHOWN}`, body: SHOWN }
  const headers = sent.headers.map((text, i) => {
    const name = sent.headers[i - 1]
    if (i % 2 === 0 || name === undefined) return text
    const holds = masked.some((other, j) => j % 2 === 1 && masked[j - 1] === name && other.includes(SHOWN))
    return isSecretHeader(name) || holds ? withoutCredential(text) : text
  })
  // A form contains only arguments, and its boundary is in the headers.
  const shown = typeof sent.body === 'string' ? (body ?? '') : sent.body
  return { ...sent, origin, path, headers, ...(shown !== undefined && { body: shown }) }
}

/** Schemes without credentials, and empty values, are shown. */
function withoutCredential(value: string): string {
  const [, scheme, rest] = /^(?:(Basic|Bearer|Digest|Token|ApiKey)(?: +|$))?(.*)$/is.exec(value) ?? []
  if (!rest) return value
  return scheme ? `${scheme} ${SHOWN}` : SHOWN
}
