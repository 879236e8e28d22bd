import { InvalidArgumentError, Option } from 'commander'
import { nearest } from '../text/index.ts'

/** Output format of a command; the first is the default. */
export function formatOption(formats: readonly string[] = ['text', 'json']): Option {
  return new Option('--format <format>', 'output format').choices(formats).default(formats[0])
}

/** Collects a repeatable option. */
export function append(text: string, before: readonly string[]): string[] {
  return [...before, text]
}

/** @throws InvalidArgumentError, which commander prints with the option's name */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`Use a whole number from ${least} to ${most}.`)
  }
}

/** @throws InvalidArgumentError */
export function configurationName(text: string): string {
  if (!/^[a-z0-9](?:[a-z0-9_.-]{0,38}[a-z0-9])?$/i.test(text))
    throw new InvalidArgumentError('Use at most 40 letters, digits, -, _ and ., for example shop.')
  return text
}

/** @throws InvalidArgumentError */
export function urlPrefix(text: string): string {
  if (!/^(?:\/[\w.~-]+)+\/?$/.test(text)) throw new InvalidArgumentError('Use a path, for example /shop.')
  return text
}

/** @throws InvalidArgumentError */
export function baseUrl(text: string): string {
  if (!/^https?:\/\/[^\s/?#@"{}\\]+(?:\/[^\s?#"{}\\]*)?$/i.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('Use a URL, for example https://api.example.com/v1.')
  return text
}

/**
 * Adds a `name:value` of the command line to the headers; names in lower case, repeated ones joined.
 * @throws Error without a colon
 */
export function addHeader(given: string, headers: Record<string, string>): Record<string, string> {
  const colon = given.indexOf(':')
  if (colon < 1) throw new Error(`--header must be name:value; got ${given}`)
  const name = given.slice(0, colon).trim().toLowerCase()
  const value = given.slice(colon + 1).trim()
  const before = Object.hasOwn(headers, name) ? `${headers[name]}, ` : ''
  return { ...headers, [name]: before + value }
}

/**
 * The message for an unknown name, with a suggestion or the known names.
 * @param what describes it, such as `no tool x`
 * @param none text if there are no names
 */
export function noSuch(what: string, name: string, names: readonly string[], none = ''): string {
  const close = nearest(name, names)
  const hint = close ? `did you mean ${close}?` : names.length ? `choose one of ${names.join(', ')}` : none
  return hint ? `${what}: ${hint}` : what
}

/** Runs work that Ctrl-C cancels. */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController()
  const interrupt = () => abort.abort()
  process.once('SIGINT', interrupt)
  try {
    return await work(abort.signal)
  } finally {
    process.off('SIGINT', interrupt)
  }
}
