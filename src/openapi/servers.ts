import type { Json, JsonObject } from '../json/index.ts'
import { shorten, withoutEndSlashes } from '../text/index.ts'
import { listOf, mapOf, textOf, Unsupported } from './open-document.ts'
import { upper } from './tool-names.ts'

/** Target of calls: a value of `.Config`, with environment variables for open parts. */
interface Base {
  /** A template that reads at most `env`. */
  template: string
  /** The URL without variables set. */
  url: string
}

interface ServerContext {
  /** Name of the configuration, for names of variables. */
  name: string
  /** Replaces the document's servers. */
  server?: string | undefined
  /** URL of the document, the base of relative ones. */
  base?: string | undefined
}

/** @throws Unsupported if there is no usable address */
export function baseOf(servers: Json | undefined, context: ServerContext): Base {
  const { server, base, name } = context
  if (server !== undefined) return { template: withoutEndSlashes(server), url: server }
  const made = listOf(servers).map((one) => attempt(mapOf(one), context))
  const usable = made.filter((one) => typeof one !== 'string')
  const [first] = usable
  // Prefers https.
  const found = usable.find(({ url }) => url === first!.url.replace(/^http:/, 'https:')) ?? first
  if (found) return found
  const [reason] = made
  if (typeof reason === 'string') throw new Unsupported(reason)
  const fallback = base === undefined ? 'http://localhost' : new URL(base).origin
  return open(fallback, '', name)
}

function attempt(server: JsonObject, { name, base }: ServerContext): Base | string {
  const given = (textOf(server.url) ?? '/').trim()
  const variables = mapOf(server.variables)
  const pieces = given.split(/\{([^{}]*)\}/)
  let [template = '', url = ''] = [pieces[0], pieces[0]]
  for (let i = 1; i < pieces.length; i += 2) {
    const [key, text] = [pieces[i]!, pieces[i + 1]!]
    const variable = mapOf(variables[key])
    const preset = variable.default ?? listOf(variable.enum)[0]
    if (preset === undefined || typeof preset === 'object')
      return `its server ${shorten(given, 80)} leaves {${key}} open: give one by --server`
    const value = String(preset)
    template += `{{env ${JSON.stringify(upper(name, 'server', key))} ${JSON.stringify(value)}}}${text}`
    url += value + text
  }
  if (/^\/\//.test(url)) [url, template] = [`https:${url}`, `https:${template}`]
  if (!/^[a-z][a-z\d+.-]*:/i.test(url)) return relative(url, template, name, base)
  const fault = faultOf(url)
  if (fault) return `its server ${shorten(given, 80)} ${fault}`
  return { template: withoutEndSlashes(template), url: withoutEndSlashes(url) }
}

/** Without a host, the document's URL is the base, or else an environment variable. */
function relative(url: string, template: string, name: string, base: string | undefined): Base | string {
  const { href, pathname } = new URL(url, 'http://localhost')
  if (faultOf(href)) return `its server ${shorten(url, 80)} is not a valid URL`
  if (base === undefined || template !== url) {
    const path = withoutEndSlashes(template === url ? pathname : template.replace(/^\/?/, '/'))
    return open(base === undefined ? 'http://localhost' : new URL(base).origin, path, name)
  }
  const whole = withoutEndSlashes(new URL(url, base).href)
  return { template: whole, url: whole }
}

function open(origin: string, path: string, name: string): Base {
  return { template: `{{env "${upper(name, 'URL')}" "${origin}"}}${path}`, url: `${origin}${path}` }
}

function faultOf(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a valid URL'
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `is not an HTTP or HTTPS URL`
  if (url.username || url.password) return 'contains a user name'
  if (url.search || url.hash || /[?#\s"{}]|%7b|%7d/i.test(text))
    return 'contains a query, a fragment or characters that a URL cannot have'
  return undefined
}
