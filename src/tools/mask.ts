import { BETWEEN_TOKENS, knownSecrets, LONGEST_KNOWN, type SecretKind } from '../text/index.ts'

/** What stands where a secret stood. */
export const SHOWN = '***'

/** `own`: one with which the gateway asks the server. */
export type RedactedKind = 'own' | SecretKind

/** Hears of the secrets that were replaced; never what they are. */
export type OnRedacted = (kind: RedactedKind, count: number) => void

/**
 * Replaces secrets.
 * @param json the text is JSON and stays JSON: a number that looks like a secret is left
 */
export type Mask = (text: string, json?: boolean, onRedacted?: OnRedacted) => string

/**
 * What finds the secrets: as they are, and as percent-encoding, JSON and base64 write them. A text without them is passed
 * over once; one with them once for each form.
 * @param secrets none of them empty
 */
export function maskOf(secrets: readonly string[]): Mask {
  return maskOfForms(allForms(secrets))
}

type Headers = Record<string, string | string[] | undefined>

/** Headers whose values repeat no secret. */
export function maskedHeaders(headers: Readonly<Headers>, mask: Mask): Readonly<Headers> {
  const shown = (value: Headers[string]) =>
    Array.isArray(value) ? value.map((one) => mask(one)) : value && mask(value)
  // Nearly all stay as they are, and need no copy.
  for (const name in headers)
    if (shown(headers[name]) !== headers[name])
      return Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, shown(value)]))
  return headers
}

/** Masks bytes that come in pieces, and holds back what may be the beginning of a secret. */
export interface StreamMask {
  push(chunk: Buffer): Buffer
  /** What was held back. */
  end(): Buffer
}

/** @returns what makes a mask for one stream of JSON, or of events that hold JSON */
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

/** Takes out what has the form of a known secret, whoever it is of. */
export const maskKnown: Mask = (text, _json, onRedacted) => {
  let shown = ''
  let from = 0
  for (const { start, end, kind } of knownSecrets(text)) {
    shown += text.slice(from, start) + SHOWN
    from = end
    onRedacted?.(kind, 1)
  }
  return from === 0 ? text : shown + text.slice(from)
}

/** The same of bytes that come in pieces: holds back what may be the beginning of one. */
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
      // Small pieces of one long word, or of one key, are looked at together.
      const mayEnd = (isInKey ? ENDS_KEY : BETWEEN_TOKENS).test(text)
      return mayEnd || rest.length > 2 * LONGEST_KNOWN ? release(false) : NOTHING
    },
    end: () => release(true),
  }
}

const NOTHING = Buffer.alloc(0)
const KEY_BEGINS = '-----BEGIN '
const ENDS_KEY = /["'-]/

/** Up to where a text can go on, whatever comes behind it. */
function safeEnd(text: string): number {
  const longest = text.length - LONGEST_KNOWN
  let end = text.length
  while (end > longest && end > 0 && !BETWEEN_TOKENS.test(text[end - 1]!)) end--
  // The marks of a private key have spaces, and JSON has no raw line feed in a text.
  const key = text.lastIndexOf(KEY_BEGINS)
  if (key >= 0 && key < end && !/["']|-----END [A-Z ]+-----/.test(text.slice(key))) end = key
  return Math.max(end, longest, 0)
}

/** One mask after the other. */
export function chained(first: StreamMask, second: StreamMask): StreamMask {
  return {
    push: (chunk) => second.push(first.push(chunk)),
    end: () => Buffer.concat([second.push(first.end()), second.end()]),
  }
}

/** The longest first: one may hold another. */
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
    // Ten times as fast as `replaceAll` where there are a million of them.
    return separators.reduce((rest, { form, inJson }) => {
      if (!rest.includes(form)) return rest
      const parts = rest.split(json ? inJson : form)
      if (parts.length > 1) onRedacted?.('own', parts.length - 1)
      return parts.join(SHOWN)
    }, text)
  }
}

/** Characters of a pattern that V8 compiles in no time. */
const MAX_PATTERN = 100_000

/** Whether a text holds one of the forms: one pass for all of them, or one for each where they are very long. */
function finderOf(forms: readonly string[]): (text: string) => boolean {
  const pattern = forms.map(escaped).join('|')
  if (pattern.length > MAX_PATTERN) return (text) => forms.some((form) => text.includes(form))
  const any = new RegExp(pattern)
  return (text) => any.test(text)
}

function formsOf(secret: string): string[] {
  const percent = encodeURIComponent(Buffer.from(secret).toString())
  const form = percent.replace(/[!'()*~]/g, hex).replaceAll('%20', '+')
  // A header holds UTF-8 as Latin-1, and an upstream may repeat it as it has read it.
  const wide = Buffer.from(secret).toString('latin1')
  const forms = [secret, percent, form, ...jsonForms(secret), wide, ...jsonForms(wide)]
  const lower = forms.map((one) => one.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))
  const upper = forms.map((one) =>
    one.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
  )
  return [...forms, ...lower, ...upper, ...base64Of(secret)]
}

/** As writers of JSON write it, but for the case of their codes. */
function jsonForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    json,
    // PHP writes slashes so, Go and Gson what HTML could read, .NET that and what is not ASCII, Python only the latter.
    json.replaceAll('/', '\\/'),
    json.replace(/[<>&]/g, unicode),
    json.replace(/[<>&=']/g, unicode),
    json.replace(/[<>&'`+\x7f-\uffff]/g, unicode),
    json.replace(/[\x7f-\uffff]/g, unicode),
  ]
}

const hex = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
const unicode = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The characters of base64 that the secret decides by itself, at each of three offsets in what is encoded. */
function base64Of(secret: string): string[] {
  const size = Buffer.byteLength(secret)
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.from(`${' '.repeat(offset)}${secret}`).toString('base64')
    const own = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + size) * 8) / 6))
    return own.length < 8 ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

const NUMERIC = /^[-+.\deE]+$/

/** No JSON number is replaced: one is a secret only between other characters than stand around a number. */
function outsideOfNumbers(form: string): RegExp {
  const text = escaped(form)
  return new RegExp(String.raw`${text}(?:(?<=[^\s:,\[\d.+\-eE]${text})|(?=[^\s,\]}\d.+\-eE]))`)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
