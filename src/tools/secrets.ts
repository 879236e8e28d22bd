import { existsSync } from 'node:fs'
import type { Server, Tool } from '../config/model.ts'
import { type UsedVariable, variablesUsed } from '../config/secret-files.ts'
import { ExactNumber, type Json, parse } from '../json/index.ts'
import {
  isCertainSecret,
  isSecretHeader,
  isSecretName,
  isSecretParameter,
  lazy,
  percentDecoded,
} from '../text/index.ts'
import type { ReadAnswer } from './answer.ts'
import { type Mask, maskedHeaders, maskOf, SHOWN } from './mask.ts'
import type { Root } from './root.ts'
import type { Env } from './templates.ts'
import type { UpstreamRequest } from './types.ts'

/** Minimum characters of a masked secret; shorter ones occur in ordinary words. */
const SHORTEST = 8
/** Maximum characters of a masked secret; longer values are content, and searching for them is slow. */
const LONGEST = 8192
/** Maximum number of secrets in one request; beyond, the answer is hidden entirely. */
const MOST = 32
/** Values of a `session`, `cookie` or `key` that are ordinary words, not secrets. */
const WORDS = /^[a-z]+(?:[ _-][a-z]+)*$/i
/** Values that are never secret. */
const HARMLESS = /^(?:https?:\/\/[^@?]*|basic|bearer|digest|apikey)$/is
/** Endings of variable names that describe a secret without containing one. */
const ABOUT_SECRET = /[_-](?:home|dir|path|file|sock|socket|host|port|url|uri|name|realm|type|mode|ttl)$/i

/** Whether this value, whose name suggests a secret, is one. */
function isSecret(name: string, value: string): boolean {
  return !HARMLESS.test(value) && (isCertainSecret(name) || !WORDS.test(value))
}

/** Whether a variable is a secret, of any length. */
export function isSecretVariable({ name, value, isSecretFile }: UsedVariable): boolean {
  return (
    isSecretFile ||
    (isSecretName(name) && !ABOUT_SECRET.test(name) && isSecret(name, value) && !isPath(value))
  )
}

const isFitting = ({ length }: string) => length >= SHORTEST && length <= LONGEST

/** Whether a text is a path; secrets in Base64 may begin with a slash too. */
function isPath(text: string): boolean {
  const path = text.replace(/^[a-z+]+:(?:path=|\/\/)?(?=\/)/i, '')
  if (/^(?:~|\.{1,2}|[A-Za-z]:)[\\/]/.test(path)) return true
  const [top] = /^\/[\w.-]+/.exec(path) ?? []
  return top !== undefined && existsSync(top)
}

/** A masked value, and its source in the configuration. */
export interface ConfiguredSecret {
  value: string
  from: string
}

/** The secrets in a tool's configuration. @param config as rendered */
export function secretsOfTool(
  tool: Tool,
  server: Server,
  config: Root['Config'],
  env: Env,
  used?: readonly UsedVariable[],
): ConfiguredSecret[] {
  const { endpoint, requestBody = '', headers } = tool
  const { baseUrl = '', headers: shared = {} } = server
  const maps = [headers, shared, server.config].flatMap((map) => Object.values(map))
  const constants = tool.args.flatMap(({ const: fixed }) => (typeof fixed === 'string' ? [fixed] : []))
  const texts = [baseUrl, endpoint, requestBody, ...maps, ...constants]
  return configuredSecrets(texts, 'config', config, env, used)
}

/**
 * Values whose names suggest secrets; also variables with such names that the configuration reads, and secret files, if
 * the texts refer to or contain them. A value that merely equals another environment variable is not a secret.
 * @param key of the values
 * @param used environment variables read by the file; default: those read by templates in the texts
 */
export function configuredSecrets(
  texts: readonly string[],
  key: string,
  values: Readonly<Record<string, string>>,
  env: Env,
  used: readonly UsedVariable[] = variablesUsed(texts.join('\n'), env),
): ConfiguredSecret[] {
  const isUsed = (text: string) => texts.some((one) => one.includes(text))
  const own = Object.entries(values)
    .filter(
      ([name, value]) => isFitting(value) && isSecretName(name) && isSecret(name, value) && !isPath(value),
    )
    .map(([name, value]) => ({ value, from: `\`${name}\` of \`${key}\`, by its name` }))
  const read = used
    .filter((one) => isFitting(one.value) && isSecretVariable(one))
    .filter(({ name, value }) => isUsed(name) || isUsed(value))
    .map(({ name, value, isSecretFile }) => ({
      value,
      from: isSecretFile ? `the secret file of \`${name}\`` : `the variable ${name}, by its name`,
    }))
  return [...own, ...read]
}

type SentParts = Pick<UpstreamRequest, 'headers' | 'path'>

/** The secrets in a request, besides the configured ones: headers and query parameters whose names suggest secrets. */
export function secretsOfRequest(sent: SentParts): ConfiguredSecret[] {
  return secretsAmong(tellingPairs(sent))
}

/** @param pairs alternating names and values */
function secretsAmong(pairs: readonly string[]): ConfiguredSecret[] {
  return pairs.flatMap((value, i) =>
    i % 2 === 1 && isFitting(value) && isSecret(pairs[i - 1]!, value)
      ? [{ value, from: `the header or parameter \`${pairs[i - 1]}\`` }]
      : [],
  )
}

/** The texts to mask in answers. */
export function textsToMask(values: readonly string[]): string[] {
  return [...new Set(values.flatMap(partsOf))].filter(({ length }) => length >= SHORTEST)
}

/** Headers and parameters whose names suggest secrets: alternating names and values. */
function tellingPairs({ headers, path }: SentParts): string[] {
  const pairs: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i]!, headers[i + 1]!]
    if (!isSecretHeader(name)) continue
    if (name.toLowerCase() === 'cookie') forEachPair(value, 0, ';', (key, one) => pairs.push(key, one))
    else pairs.push(name, value)
  }
  const query = path.indexOf('?')
  if (query >= 0)
    forEachPair(path, query + 1, '&', (key, value) => {
      const name = percentDecoded(key)
      if (isSecretParameter(name)) pairs.push(name, percentDecoded(value))
    })
  return pairs
}

/** Parts that are secrets by themselves: of `Bearer abc` also `abc`; of `Basic` also the password. */
function partsOf(value: string): string[] {
  const bare = value.replace(/^[\w-]+\s+/, '')
  if (!/^basic\s/i.test(value)) return [value, bare]
  const login = Buffer.from(bare, 'base64').toString()
  return [value, bare, login, login.slice(login.indexOf(':') + 1)]
}

/** Calls back with the name and value of each pair from an index on; parts without `=` are skipped. */
function forEachPair(
  text: string,
  from: number,
  separator: string,
  call: (name: string, value: string) => void,
): void {
  for (let start = from; start < text.length; ) {
    const next = text.indexOf(separator, start)
    const end = next < 0 ? text.length : next
    const pair = text.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals >= 0) call(pair.slice(0, equals).trim(), pair.slice(equals + 1).trim())
    start = end + 1
  }
}

/** ASCII without a percent sign. */
const ONE_SPELLING = /^[\x20-\x24\x26-\x7e]*$/

/** Spellings of a value that may come from an argument; headers hold UTF-8 as Latin-1. */
function spellings(value: string): string[] {
  if (ONE_SPELLING.test(value)) return [value]
  const wide = Buffer.from(value, 'latin1').toString()
  return [value, percentDecoded(value), wide, percentDecoded(wide)]
}

/** All scalars inside the value that are among `wanted`, as text; undefined: none. */
function textsOf(value: Json, wanted: ReadonlySet<string>, texts?: Set<string>): Set<string> | undefined {
  let found = texts
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) found = textsOf(member, wanted, found)
  } else if (wanted.has(String(value))) {
    found ??= new Set()
    found.add(String(value))
  }
  return found
}

/**
 * Creates the masks for calls of one tool; undefined without secrets. The last mask is cached, because most calls send
 * the same secrets.
 * @param configured texts to mask of its configuration
 */
export function callMasks(
  configured: () => readonly string[],
): (sent: SentParts, args: Json, tokens?: readonly string[]) => Mask | undefined {
  let known: SentSecrets | undefined
  return (sent, args, tokens = []) => {
    const pairs = tellingPairs(sent)
    if (!known || !areSame(known.pairs, pairs) || !areSame(known.tokens, tokens))
      known = new SentSecrets(pairs, tokens, configured())
    return known.maskFor(args)
  }
}

/** The secrets sent by a call. */
class SentSecrets {
  private readonly secrets: readonly string[]
  private readonly spelled: ReadonlySet<string>
  private readonly all: () => Mask
  /** Cached for the last call whose arguments contained some of them. */
  private part: { secrets: readonly string[]; mask: Mask } | undefined

  constructor(
    readonly pairs: readonly string[],
    readonly tokens: readonly string[],
    configured: readonly string[],
  ) {
    const sent = [...tokens, ...secretsAmong(pairs).map(({ value }) => value)]
    this.secrets = [...new Set([...configured, ...textsToMask(sent)])]
    this.spelled = new Set(this.secrets.flatMap(spellings))
    this.all = lazy(() => manyMasked(this.secrets))
  }

  /** Values in the client's own arguments are not masked. */
  maskFor(args: Json): Mask | undefined {
    const { secrets, spelled } = this
    if (secrets.length === 0) return undefined
    const said = textsOf(args, spelled)
    if (!said) return this.all()
    const unsaid = secrets.filter((secret) => !spellings(secret).some((spelling) => said.has(spelling)))
    if (!unsaid.length) return undefined
    if (!this.part || !areSame(this.part.secrets, unsaid))
      this.part = { secrets: unsaid, mask: manyMasked(unsaid) }
    return this.part.mask
  }
}

function manyMasked(secrets: readonly string[]): Mask {
  return secrets.length > MOST ? () => SHOWN : maskOf(secrets)
}

function areSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, i) => text === other[i])
}

/**
 * An answer without secrets; images and audio stay unchanged.
 * @param shown its masked text, if already known
 */
export function masked(read: ReadAnswer, mask: Mask | undefined, shown?: string): ReadAnswer {
  if (!mask) return read
  const { answer, kind } = read
  const headers = maskedHeaders(answer.headers, mask)
  const text = lazy(() => shown ?? mask(read.text(), kind === 'json'))
  const data = lazy(() => {
    const own = text()
    const value = own === read.text() ? read.data() : parse(own)
    // An escape may hide the secret in the text but not in the parsed value.
    return value !== undefined && kind === 'json' && own.includes('\\') ? maskedValue(value, mask) : value
  })
  const body = kind === 'binary' ? maskedBytes(answer.body, mask) : answer.body
  return { ...read, answer: { ...answer, reason: mask(answer.reason), headers, body }, text, data }
}

function maskedValue(value: Json, mask: Mask): Json {
  if (typeof value === 'string') return mask(value)
  if (Array.isArray(value)) return value.map((item) => maskedValue(item, mask))
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value
  const members = Object.entries(value).map(([key, member]) => [mask(key), maskedValue(member, mask)])
  return Object.fromEntries(members)
}

function maskedBytes(bytes: Buffer, mask: Mask): Buffer {
  const before = bytes.toString('latin1')
  const after = mask(before)
  return after === before ? bytes : Buffer.from(after, 'latin1')
}
