import type { Env, Server } from '../../config/index.ts'
import { compile } from '../../template/index.ts'
import { isSecretHeader, isSecretName } from '../../text/index.ts'

/** Hides secrets in what is shown. */
export interface Mask {
  text(text: string): string
  header(name: string, value: string): string
}

export const noMasks: Mask = { text: (text) => text, header: (_, value) => value }

export const SHOWN = '***'
/** Nobody keeps these as a secret, and without them too much would be hidden. */
const HARMLESS = /^(?:true|false|null|none)?$|^https?:\/\/[^@?]*$/is
/** Shorter ones are masked where a template reads them, but not wherever else their letters stand. */
const SHORTEST = 4

/** The names of a server's `config` whose values look like secrets. */
export function secretConfig(server: Server, env: Env): Set<string> {
  const entries = Object.entries(server.config).filter(
    ([name, value]) => isSecretName(name) && !HARMLESS.test(rendered(value, env)),
  )
  return new Set(entries.map(([name]) => name))
}

/**
 * The values that look like secrets by their name: those of the server's `config`, and those of environment
 * variables that the file names.
 */
export function secretsOf(source: string, server: Server, env: Env): string[] {
  const named = Object.entries(env).filter(([name]) => isSecretName(name) && source.includes(name))
  const config = Object.entries(server.config)
    .filter(([name]) => isSecretName(name))
    .map(([name, value]) => [name, rendered(value, env)] as const)
  return [...config, ...named].flatMap(([, value]) => {
    if (value === undefined) return []
    // `Bearer abc` is a secret, and so is `abc` alone.
    const parts = [value, value.replace(/^\w+\s+/, '')]
    return parts.filter((part) => part.length >= SHORTEST && !HARMLESS.test(part))
  })
}

/** Values of `config` may read the environment, with a default that is a secret too. */
function rendered(value: string, env: Env): string {
  if (!value.includes('{{')) return value
  return compile(value, { place: 'text', env, roots: {} }).template?.constant ?? value
}

/**
 * Masks the values wherever they stand, also escaped for JSON, a URL or in base64, and whole headers by their name.
 * @param isSecret whether a header's template reads a secret: its value is masked whatever its name
 */
export function masker(secrets: readonly string[], isSecret: (header: string) => boolean): Mask {
  const forms = secrets.flatMap((value) => [
    value,
    encodeURIComponent(Buffer.from(value).toString()),
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString('base64'),
  ])
  // The longest first: one secret may hold another.
  const ordered = [...new Set(forms)].sort((a, b) => b.length - a.length)
  const text = (shown: string) => ordered.reduce((rest, secret) => rest.replaceAll(secret, SHOWN), shown)
  return {
    text,
    header(name, value) {
      if (!isSecretHeader(name) && !isSecret(name)) return text(value)
      // A scheme without a credential, and nothing at all, are shown as they are.
      const [, scheme, rest] = /^(?:(Basic|Bearer|Digest|Token|ApiKey)(?: +|$))?(.*)$/is.exec(value) ?? []
      if (!rest) return value
      return scheme ? `${scheme} ${SHOWN}` : SHOWN
    },
  }
}
