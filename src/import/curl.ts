import { shellWords } from '../text/index.ts'
import type { ExampleBody, Examples, Login, Parameter } from './requests.ts'
import { bodyFrom, requestTo } from './url-requests.ts'

/** Long names of the short options that matter here; others take a value where they are listed below. */
const SHORT: Readonly<Record<string, string>> = {
  X: 'request',
  H: 'header',
  d: 'data',
  F: 'form',
  u: 'user',
  b: 'cookie',
  G: 'get',
  I: 'head',
  A: 'user-agent',
  e: 'referer',
  T: 'upload-file',
  o: 'output',
  m: 'max-time',
  x: 'proxy',
  E: 'cert',
  w: 'write-out',
  c: 'cookie-jar',
  r: 'range',
  K: 'config',
}
const DATA = ['data', 'data-raw', 'data-binary', 'data-ascii', 'data-urlencode', 'json']
const WITH_VALUE = new Set([
  ...Object.values(SHORT).filter((name) => name !== 'get' && name !== 'head'),
  ...DATA,
  'url',
  'form-string',
  'oauth2-bearer',
  'connect-timeout',
  'retry',
  'cacert',
  'key',
  'resolve',
  'interface',
  'ciphers',
  'aws-sigv4',
  'url-query',
])

/**
 * The request of a command line of curl.
 * @returns `fault`: why there is none
 */
export function curlExamples(line: string): Examples | { fault: string } {
  const words = shellWords(
    line
      .trim()
      .replace(/^\$\s+/, '')
      .replace(/\\\r?\n/g, ' '),
  )
  if (!words) return { fault: 'it is not one command line: a quote is not closed, or it needs a shell' }
  if (!/(?:^|\/)curl(?:\.exe)?$/.test(words[0] ?? '')) return { fault: 'it does not begin with `curl`' }
  const options = optionsOf(words.slice(1))
  const all = (...names: string[]) =>
    options.filter(([name]) => names.includes(name)).map(([, value]) => value)
  const has = (...names: string[]) => options.some(([name]) => names.includes(name))
  const [url, ...others] = all('url')
  if (url === undefined) return { fault: 'it has no URL' }
  const headers = all('header').flatMap(headerOf)
  for (const cookie of all('cookie')) headers.push({ name: 'Cookie', value: cookie })
  const data = dataOf(options)
  const inQuery = has('get') ? data.join('&') : ''
  const forms = all('form', 'form-string')
  const body = has('get') ? undefined : bodyOf(data, forms, headers, has('json'))
  const method =
    all('request')[0] ?? (has('head') ? 'HEAD' : has('upload-file') ? 'PUT' : body ? 'POST' : 'GET')
  const login: Login | undefined = has('oauth2-bearer')
    ? { type: 'bearer' }
    : has('digest', 'ntlm', 'negotiate', 'aws-sigv4')
      ? { type: 'other', scheme: 'digest' }
      : has('user')
        ? { type: 'basic' }
        : undefined
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `http://${url}`
  const request = requestTo(inQuery === '' ? whole : `${whole}${whole.includes('?') ? '&' : '?'}${inQuery}`, {
    method: method.toUpperCase(),
    headers,
    body,
    login,
  })
  if (!request) return { fault: `${url.slice(0, 80)} is not a URL of HTTP` }
  const skipped = others.map((other) => ({
    operation: other.slice(0, 80),
    reason: 'only the first URL of a command is imported',
  }))
  return { title: hostTitle(request.origin), requests: [request], servers: new Map(), skipped }
}

function optionsOf(words: readonly string[]): [name: string, value: string][] {
  const options: [string, string][] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const [, long, short = '', rest = ''] = /^(?:--([\w.-]+)|-([A-Za-z0-9#])([\s\S]*))$/.exec(word) ?? []
    if (long !== undefined) options.push([long, WITH_VALUE.has(long) ? (words[++i] ?? '') : ''])
    else if (short === '') options.push(['url', word])
    else {
      // Flags may stand together: `-sSL`, `-XPOST`.
      const letters = short + rest
      for (let at = 0; at < letters.length; at++) {
        const name = SHORT[letters[at]!] ?? letters[at]!
        if (!WITH_VALUE.has(name)) options.push([name, ''])
        else {
          const value = letters.slice(at + 1)
          options.push([name, value === '' ? (words[++i] ?? '') : value])
          break
        }
      }
    }
  }
  return options
}

function dataOf(options: readonly [name: string, value: string][]): string[] {
  return options.flatMap(([name, value]) => {
    if (!DATA.includes(name)) return []
    if (name !== 'data-urlencode') return [value]
    const [, key = '', text = ''] = /^([^=@]*)=?([\s\S]*)$/.exec(value) ?? []
    return [key === '' ? encodeURIComponent(text) : `${key}=${encodeURIComponent(text)}`]
  })
}

function bodyOf(
  data: readonly string[],
  forms: readonly string[],
  headers: readonly Parameter[],
  isJson: boolean,
): ExampleBody | undefined {
  if (forms.length > 0)
    return {
      form: 'multipart',
      fields: forms.flatMap((field) => {
        const [, name = '', value = ''] = /^([^=]+)=([\s\S]*)$/.exec(field) ?? []
        return name === ''
          ? []
          : [{ name, value: value.replace(/^[@<].*|;type=.*$/s, ''), isFile: /^[@<]/.test(value) }]
      }),
    }
  if (data.length === 0) return undefined
  const given = headers.find(({ name }) => /^content-type$/i.test(name))?.value
  const text = data.join('&')
  // What curl says without a header, unless the text shows that it is something else.
  const assumed = isJson
    ? 'application/json'
    : /^\s*[{[]/.test(text)
      ? ''
      : 'application/x-www-form-urlencoded'
  // A file is not read: its text is the argument.
  return text.startsWith('@')
    ? { form: 'text', type: given ?? 'text/plain' }
    : bodyFrom(text, given ?? assumed)
}

function headerOf(text: string): Parameter[] {
  const colon = text.indexOf(':')
  return colon < 1 || text.slice(colon + 1).trim() === ''
    ? []
    : [{ name: text.slice(0, colon).trim(), value: text.slice(colon + 1).trim() }]
}

/** `https://api.shop.example.com` → `shop.example.com` */
export function hostTitle(origin: string): string {
  return URL.canParse(origin)
    ? new URL(origin).hostname.replace(/^(?:www|api)\./, '').replace(/\.\w+$/, '')
    : 'api'
}
