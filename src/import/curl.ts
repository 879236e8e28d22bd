import { hostTitle } from '../openapi/tool-names.ts'
import { type CurlOption, curlOptions } from './curl-options.ts'
import { withoutSecrets } from './found-secrets.ts'
import type { ExampleBody, ExampleField, ExampleRequest, Login, Parameter } from './logins.ts'
import { type Examples, grouped } from './requests.ts'
import { bodyFrom, requestTo } from './url-requests.ts'

const DATA = ['data', 'data-raw', 'data-binary', 'data-ascii', 'data-urlencode', 'json']

/** Transport options, and why they are not in a configuration. */
const LEFT_OUT: readonly [option: RegExp, reason: string][] = [
  [
    /^(?:proxy(?!-header).*|preproxy|socks.*|noproxy|interface|resolve|connect-to|(?:abstract-)?unix-socket|doh-url)$/,
    'the settings of the gateway say how it connects',
  ],
  [
    /^(?:cert|key|cacert|capath|pass|pinnedpubkey|crlfile|tls(?:user|password))$/,
    'certificates are not imported',
  ],
  [/^insecure$/, 'the gateway checks certificates'],
  [/^(?:config|netrc(?:-file|-optional)?|variable|expand-.*)$/, 'what it names is not read'],
  [/^request-target$/, 'the gateway asks for the path of the URL'],
  [/^(?:max-time|connect-timeout|speed-(?:time|limit))$/, 'use `limits` of the server'],
  [/^retry/, 'use `retry` of the server'],
]
/** Options that become parts of a tool, or are the form in which the line is written. */
const USED =
  /^(?:url|url-query|request|get|head|data.*|json|form|form-string|header|user|user-agent|referer|oauth2-bearer|cookie|location|location-trusted|upload-file|globoff|range|digest|ntlm|negotiate|aws-sigv4|basic|compressed)$/

/**
 * The requests in curl command lines; each begins on a new line.
 * @returns `fault`: why there are none
 */
export function curlExamples(text: string): Examples | { fault: string } {
  const pieces = text.split(/\n(?=[^\S\n]*(?:\$[^\S\n]+)?curl(?:\.exe)?\s)/)
  const requests: CurlOption[][] = []
  let line = 1
  for (const piece of pieces) {
    const { command, before } = withoutComments(piece)
    const isOnly = pieces.length === 1
    const one = command === '' && !isOnly ? { requests: [] } : curlOptions(command)
    if ('fault' in one) return isOnly ? one : { fault: `the command of line ${line + before}: ${one.fault}` }
    requests.push(...one.requests)
    line += piece.split('\n').length
  }
  const made: Examples & { leftOut: NonNullable<Examples['leftOut']> } = {
    title: '',
    requests: [],
    servers: new Map(),
    skipped: [],
    leftOut: [],
  }
  for (const options of requests) {
    const urls = options.filter(([name]) => name === 'url').map(([, url]) => url)
    for (const url of urls) addRequest(made, url, options)
  }
  const [first] = made.requests
  if (!first) return { fault: made.skipped[0]!.reason }
  return { ...made, title: hostTitle(first.origin) }
}

/** Without comments and empty lines around a command; `before`: the number of those before it. */
function withoutComments(text: string): { command: string; before: number } {
  const lines = text.split('\n')
  const isCommand = (line: string) => !/^\s*(?:#.*)?$/.test(line)
  const before = lines.findIndex(isCommand)
  return { command: lines.slice(before, lines.findLastIndex(isCommand) + 1).join('\n'), before }
}

function addRequest(
  made: Required<Pick<Examples, 'requests' | 'skipped' | 'leftOut'>>,
  url: string,
  options: readonly CurlOption[],
): void {
  const shown = withoutSecrets(url.slice(0, 80))
  const [address = ''] = url.replace(/^[a-z]+:\/\//i, '').split(/[/?#]/, 1)
  if (address.split('@').at(-1)!.includes('$')) {
    made.skipped.push({ operation: shown, reason: 'its address is a variable of the shell: write it out' })
    return
  }
  const isPlain = options.some(([name]) => name === 'globoff')
  if (
    !isPlain &&
    /\{[^{},]*,[^{}]*\}|\[[\da-z]+-[\da-z]+(?::\d+)?\]/i.test(url.replace(/^[^/]*\/\/[^/]*/, ''))
  ) {
    made.skipped.push({
      operation: shown,
      reason: 'a URL with a list or a range is several: give each by itself',
    })
    return
  }
  const request = requestOf(url, options)
  if (!request) {
    made.skipped.push({ operation: shown, reason: `${shown} is not a URL of HTTP` })
    return
  }
  made.requests.push(request)
  const operation = `${request.method} ${request.path}`
  for (const [what, reason] of leftOutOf(options)) made.leftOut.push({ operation, what, reason })
}

function requestOf(url: string, options: readonly CurlOption[]): ExampleRequest | undefined {
  const all = (...names: string[]) =>
    options.filter(([name]) => names.includes(name)).map(([, value]) => value)
  const has = (...names: string[]) => options.some(([name]) => names.includes(name))
  const headers = all('header').flatMap(headerOf)
  // Without `=` it is a file name.
  const cookies = all('cookie').filter((cookie) => cookie.includes('='))
  if (cookies.length > 0) headers.push({ name: 'Cookie', value: cookies.join('; ') })
  for (const range of all('range')) headers.push({ name: 'Range', value: `bytes=${range}` })
  const data = dataOf(options)
  const inQuery = [
    ...(has('get') ? data : []),
    ...all('url-query').map((one) => one.replace(/^\+/, '')),
  ].join('&')
  const body = has('get') ? undefined : bodyOf(options, data, headers)
  // An empty text is a body too.
  const hasBody = body !== undefined || (!has('get') && data.length > 0)
  const method =
    all('request').at(-1) ?? (has('head') ? 'HEAD' : has('upload-file') ? 'PUT' : hasBody ? 'POST' : 'GET')
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `http://${url}`
  const [before = '', fragment] = whole.split('#')
  const asked =
    inQuery === ''
      ? whole
      : `${before}${before.includes('?') ? '&' : '?'}${inQuery}${fragment === undefined ? '' : `#${fragment}`}`
  const request = requestTo(asked, { method: method.toUpperCase(), headers, body, login: loginOf(options) })
  if (!request) return undefined
  // Text in braces is a placeholder, and so is a variable of the shell.
  const path = request.path.replace(/%7[Bb]([A-Za-z_]\w*)%7[Dd]|\$([A-Z_][A-Z0-9_]*)/g, '{$1$2}')
  return { ...request, path, ...(has('location', 'location-trusted') && { follows: true }) }
}

function loginOf(options: readonly CurlOption[]): Login | undefined {
  const one = (name: string) => options.findLast(([own]) => own === name)?.[1]
  const other = ['digest', 'ntlm', 'negotiate', 'aws-sigv4'].find((name) => one(name) !== undefined)
  if (other !== undefined) return { type: 'other', scheme: other }
  const [bearer, user] = [one('oauth2-bearer'), one('user')]
  if (bearer !== undefined) return { type: 'bearer', value: bearer }
  return user === undefined ? undefined : { type: 'basic', value: user }
}

function leftOutOf(options: readonly CurlOption[]): [what: string, reason: string][] {
  return options.flatMap(([name, value]): [string, string][] => {
    const [, reason] = LEFT_OUT.find(([option]) => option.test(name)) ?? []
    const what = `--${name}`
    if (reason !== undefined) return [[what, reason]]
    const isFile = DATA.includes(name) && fileOf(name, value) !== undefined
    if (isFile || name === 'upload-file') return [[what, 'the file is not read: its content is an argument']]
    if (name === 'cookie' && !value.includes('=')) return [[what, 'the file of cookies is not read']]
    if (!USED.test(name)) return [[what, 'it is about the transfer or the output of curl']]
    if (name !== 'header') return []
    if (value.startsWith('@')) return [[what, 'the file of headers is not read']]
    return /^[^:]*;\s*$/.test(value)
      ? [[`the header ${value.replace(/;\s*$/, '')}`, 'an empty header is not sent']]
      : []
  })
}

/** The file named by a body option; undefined: a text. */
function fileOf(name: string, value: string): string | undefined {
  if (name === 'data-raw') return undefined
  if (name === 'data-urlencode') return /^[^=@]*@(.*)$/s.exec(value)?.[1]
  return value.startsWith('@') ? value.slice(1) : undefined
}

function dataOf(options: readonly CurlOption[]): string[] {
  return options.flatMap(([name, value]) => {
    if (!DATA.includes(name)) return []
    if (name !== 'data-urlencode') return [value]
    if (fileOf(name, value) !== undefined) return [`${value.split('@')[0]}=`]
    const [, key = '', text = ''] = /^([^=]*)=([\s\S]*)$/.exec(value) ?? [value, '', value]
    return [key === '' ? encodeURIComponent(text) : `${key}=${encodeURIComponent(text)}`]
  })
}

function bodyOf(
  options: readonly CurlOption[],
  data: readonly string[],
  headers: readonly Parameter[],
): ExampleBody | undefined {
  const forms = options.filter(([name]) => name === 'form' || name === 'form-string')
  if (forms.length > 0)
    return {
      form: 'multipart',
      fields: grouped(
        forms.flatMap(([option, field]): ExampleField[] => {
          const [, name = '', value = ''] = /^([^=]+)=([\s\S]*)$/.exec(field) ?? []
          const isText = option === 'form-string'
          const text = isText ? value : value.replace(/^[@<].*|;(?:type|filename|headers|encoder)=.*$/s, '')
          const [, type = ''] = (!isText && /;type=([^;]*)/.exec(value)) || []
          return name === '' ? [] : [{ name, value: text, type, isFile: !isText && /^[@<]/.test(value) }]
        }),
      ),
    }
  const given = headers.find(({ name }) => /^content-type$/i.test(name))?.value
  if (options.some(([name]) => name === 'upload-file')) return { form: 'text', type: given ?? 'text/plain' }
  if (data.length === 0) return undefined
  const isJson = options.some(([name]) => name === 'json')
  const media = given ?? (isJson ? 'application/json' : undefined)
  // Files are not read: their content becomes an argument.
  if (
    options.some(
      ([name, value]) =>
        DATA.includes(name) && fileOf(name, value) !== undefined && name !== 'data-urlencode',
    )
  )
    return /\bjson\b/i.test(media ?? '')
      ? { form: 'json', value: null, ...(/\+json\b/i.test(media!) && { type: media! }) }
      : { form: 'text', type: media ?? 'text/plain' }
  const text = data.join(isJson ? '' : '&')
  // curl's default media type, unless the text contradicts it.
  const assumed = /^\s*[{[]/.test(text) ? '' : 'application/x-www-form-urlencoded'
  return bodyFrom(text, media ?? assumed)
}

function headerOf(text: string): Parameter[] {
  const colon = text.indexOf(':')
  return colon < 1 || text.startsWith('@') || text.slice(colon + 1).trim() === ''
    ? []
    : [{ name: text.slice(0, colon).trim(), value: text.slice(colon + 1).trim() }]
}
