import {
  BETWEEN_TOKENS,
  knownSecrets,
  LONGEST_KNOWN,
  PIECE,
  pause,
  type SecretKind,
  SHOWN,
  withoutKnown,
} from '../text/index.ts'

export { SHOWN }

/** `own`: a secret that the gateway sends to the server. */
export type RedactedKind = 'own' | SecretKind

/** Called with the kind and number of masked secrets; never with their values. */
export type OnRedacted = (kind: RedactedKind, count: number) => void

/**
 * Masks secrets.
 * @param json the text is JSON and must stay JSON, so numbers that look like secrets are kept
 */
export type Mask = (text: string, json?: boolean, onRedacted?: OnRedacted) => string

/**
 * Creates a mask for secrets in plain, percent-encoded, JSON and Base64 form. A text without secrets is scanned once;
 * with secrets, once for each form.
 * @param secrets not empty
 */
export function maskOf(secrets: readonly string[]): Mask {
  return maskOfForms(allForms(secrets))
}

type Headers = Record<string, string | string[] | undefined>

/** Headers with secrets masked. */
export function maskedHeaders(headers: Readonly<Headers>, mask: Mask): Readonly<Headers> {
  const shown = (value: Headers[string]) =>
    Array.isArray(value) ? value.map((one) => mask(one)) : value && mask(value)
  // Copies only if something changes.
  for (const name in headers)
    if (shown(headers[name]) !== headers[name])
      return Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, shown(value)]))
  return headers
}

/** Masks a byte stream, and holds back the possible beginning of a secret. */
export interface StreamMask {
  push(chunk: Buffer): Buffer
  /** Releases the bytes held back. */
  end(): Buffer
}

/** @returns a factory of masks for streams of JSON, or of events with JSON */
export function streamMaskOf(secrets: readonly string[], onRedacted?: OnRedacted): () => StreamMask {
  const forms = allForms(secrets).map((form) => Buffer.from(form).toString('latin1'))
  const mask = maskOfForms(forms)
  const longest = Math.max(...forms.map(({ length }) => length))
  const held = (text: string) => {
    for (let size = Math.min(longest - 1, text.length); size > 0; size--) {
      const tail = text.slice(-size)
      if (forms.some((form) => form.startsWith(tail))) return size
    }
    return 0
  }
  return () => {
    let rest = ''
    return {
      push(chunk) {
        const text = mask(rest + chunk.toString('latin1'), true, onRedacted)
        const end = text.length - held(text)
        rest = text.slice(end)
        return Buffer.from(text.slice(0, end), 'latin1')
      },
      end: () => Buffer.from(rest, 'latin1'),
    }
  }
}

/** Masks texts in the format of well-known secrets. */
export const maskKnown: Mask = (text, _json, onRedacted) =>
  withoutKnown(text, (kind) => onRedacted?.(kind, 1))

/** The same for a large text, piece by piece. */
export async function maskKnownInPieces(text: string, onRedacted?: OnRedacted): Promise<string> {
  const mask = streamMaskKnown(onRedacted)
  const bytes = Buffer.from(text)
  const shown: Buffer[] = []
  for (let at = 0; at < bytes.length; at += PIECE) {
    shown.push(mask.push(bytes.subarray(at, at + PIECE)))
    await pause()
  }
  return Buffer.concat([...shown, mask.end()]).toString()
}

/** The same for a byte stream; holds back the possible beginning of a secret. */
export function streamMaskKnown(onRedacted?: OnRedacted): StreamMask {
  let rest = ''
  const release = (all: boolean) => {
    let end = all ? rest.length : safeEnd(rest)
    let shown = ''
    let from = 0
    for (const { start, end: stop, kind } of knownSecrets(rest)) {
      if (start >= end) break
      shown += rest.slice(from, start) + SHOWN
      from = stop
      end = Math.max(end, stop)
      onRedacted?.(kind, 1)
    }
    shown += rest.slice(from, end)
    rest = rest.slice(end)
    return Buffer.from(shown, 'latin1')
  }
  return {
    push(chunk) {
      const text = chunk.toString('latin1')
      const isInKey = rest.startsWith(KEY_BEGINS)
      rest += text
      // Small chunks of one long word or key are examined together.
      const mayEnd = (isInKey ? ENDS_KEY : BETWEEN_TOKENS).test(text)
      return mayEnd || rest.length > 2 * LONGEST_KNOWN ? release(false) : NOTHING
    },
    end: () => release(true),
  }
}

const NOTHING = Buffer.alloc(0)
const KEY_BEGINS = '-----BEGIN '
const ENDS_KEY = /["'-]/

/** Length of the text that no continuation can affect. */
function safeEnd(text: string): number {
  const longest = text.length - LONGEST_KNOWN
  let end = text.length
  while (end > longest && end > 0 && !BETWEEN_TOKENS.test(text[end - 1]!)) end--
  // Private key markers contain spaces, and JSON strings contain no raw line feed.
  const key = text.lastIndexOf(KEY_BEGINS)
  if (key >= 0 && key < end && !/["']|-----END [A-Z ]+-----/.test(text.slice(key))) end = key
  return Math.max(end, longest, 0)
}

/** Applies one mask after the other. */
export function chained(first: StreamMask, second: StreamMask): StreamMask {
  return {
    push: (chunk) => second.push(first.push(chunk)),
    end: () => Buffer.concat([second.push(first.end()), second.end()]),
  }
}

/** Longest first, as one may contain another. */
function allForms(secrets: readonly string[]): string[] {
  return [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length)
}

function maskOfForms(forms: readonly string[]): Mask {
  const holds = finderOf(forms)
  const separators = forms.map((form) => ({
    form,
    inJson: NUMERIC.test(form) ? outsideOfNumbers(form) : form,
  }))
  return (text, json = false, onRedacted) => {
    if (!holds(text)) return text
    // Much faster than `replaceAll` for very many occurrences.
    return separators.reduce((rest, { form, inJson }) => {
      if (!rest.includes(form)) return rest
      const parts = rest.split(json ? inJson : form)
      if (parts.length > 1) onRedacted?.('own', parts.length - 1)
      return parts.join(SHOWN)
    }, text)
  }
}

/** Whether a text contains one of the forms: one combined pattern, or one search each if too long. */
function finderOf(forms: readonly string[]): (text: string) => boolean {
  const pattern = forms.map(escaped).join('|')
  if (pattern.length > 100_000) return (text) => forms.some((form) => text.includes(form))
  const any = new RegExp(pattern)
  return (text) => any.test(text)
}

function formsOf(secret: string): string[] {
  const percent = encodeURIComponent(Buffer.from(secret).toString())
  const form = percent.replace(/[!'()*~]/g, hex).replaceAll('%20', '+')
  // Headers hold UTF-8 as Latin-1, and an upstream may repeat it in that form.
  const wide = Buffer.from(secret).toString('latin1')
  const forms = [secret, percent, form, ...jsonForms(secret), wide, ...jsonForms(wide)]
  const lower = forms.map((one) => one.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))
  const upper = forms.map((one) =>
    one.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
  )
  return [...forms, ...lower, ...upper, ...base64Of(secret)]
}

/** Forms written by JSON serializers, except for the case of escapes. */
function jsonForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    json,
    // PHP escapes slashes; Go and Gson HTML characters; .NET also non-ASCII; Python only non-ASCII.
    json.replaceAll('/', '\\/'),
    json.replace(/[<>&]/g, unicode),
    json.replace(/[<>&=']/g, unicode),
    json.replace(/[<>&'`+\x7f-\uffff]/g, unicode),
    json.replace(/[\x7f-\uffff]/g, unicode),
  ]
}

const hex = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
const unicode = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The Base64 characters determined by the secret alone, for each of three byte offsets. */
function base64Of(secret: string): string[] {
  const size = Buffer.byteLength(secret)
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.from(`${' '.repeat(offset)}${secret}`).toString('base64')
    const own = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + size) * 8) / 6))
    return own.length < 8 ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

const NUMERIC = /^[-+.\deE]+$/

/** A secret within a JSON number is kept: it is masked only between characters that cannot surround a number. */
function outsideOfNumbers(form: string): RegExp {
  const text = escaped(form)
  return new RegExp(String.raw`${text}(?:(?<=[^\s:,\[\d.+\-eE]${text})|(?=[^\s,\]}\d.+\-eE]))`)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
