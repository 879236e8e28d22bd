import type { Env } from '../../config/index.ts'
import { secretValues } from '../../config/secret-files.ts'
import type { Secrets } from '../../template/index.ts'
import { isSecretHeader, isSecretName } from '../../text/index.ts'
import type { UpstreamRequest } from '../../tools/index.ts'
import { SHOWN } from '../../tools/mask.ts'

/** Nobody keeps these as a secret, and without them too much would be hidden. */
const HARMLESS = /^(?:true|false|null|none)?$|^https?:\/\/[^@?]*$/is
/** Shorter ones are masked where a template reads them, but not wherever else their letters stand. */
const SHORTEST = 4

type Values = Readonly<Record<string, string>>

/** What templates do not show: what looks like a secret by its name. @param config of the server, as rendered */
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

/**
 * The values that look like secrets by their name: those of the server's `config`, and those of environment
 * variables that the file names; and those of secret files.
 */
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
 * A request to be shown: its URL and body as templates make them without secrets, or not at all; its headers as they are
 * sent, but those that are secrets by their name or hold one.
 * @param hidden the same request of templates that show no secrets, where that can be made
 */
export function withoutSecrets(sent: UpstreamRequest, hidden: UpstreamRequest | undefined): UpstreamRequest {
  const { origin, path, headers: masked, body } = hidden ?? { ...sent, path: `/${SHOWN}`, body: SHOWN }
  const headers = sent.headers.map((text, i) => {
    const name = sent.headers[i - 1]
    if (i % 2 === 0 || name === undefined) return text
    const holds = masked.some((other, j) => j % 2 === 1 && masked[j - 1] === name && other.includes(SHOWN))
    return isSecretHeader(name) || holds ? withoutCredential(text) : text
  })
  // A form is made of arguments only, and its boundary is in the headers.
  const shown = typeof sent.body === 'string' ? (body ?? '') : sent.body
  return { ...sent, origin, path, headers, ...(shown !== undefined && { body: shown }) }
}

/** A scheme without a credential, and nothing at all, are shown as they are. */
function withoutCredential(value: string): string {
  const [, scheme, rest] = /^(?:(Basic|Bearer|Digest|Token|ApiKey)(?: +|$))?(.*)$/is.exec(value) ?? []
  if (!rest) return value
  return scheme ? `${scheme} ${SHOWN}` : SHOWN
}
