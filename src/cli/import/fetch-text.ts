import { createReadStream, existsSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** A text, and where it came from in the end. */
export interface Fetched {
  text: string
  /** URL after redirects; undefined for a file. */
  base?: string
}

const MAX_SIZE = 64 * 1024 * 1024
const TIMEOUT = 30_000
const MAX_REDIRECTS = 5

/**
 * The text of a file, of a URL by http or https, or of standard input for `-`.
 * @throws Error that says why there is none
 */
export async function fetchText(from: string): Promise<Fetched> {
  if (/^https?:\/\//i.test(from)) return await fetchUrl(from)
  if (/^[a-z][a-z\d+.-]+:\/\//i.test(from))
    throw new Error(`cannot read ${from}: give a file, or an HTTP or HTTPS URL`)
  try {
    const stream = from === '-' ? process.stdin : createReadStream(from)
    return { text: await readText(stream, from) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new Error(`cannot read ${from}: no such file`)
    if (code === 'EISDIR') throw new Error(`cannot read ${from}: it is a folder`)
    throw code === undefined ? error : new Error(`cannot read ${from}: ${message}`)
  }
}

/**
 * The text of what a text from `base` refers to: of a file beside a file, of a URL at the same place as a URL.
 * @throws Error that says why there is none
 */
export async function fetchOther(url: string, base: string): Promise<string> {
  const isFile = url.startsWith('file:')
  if (isFile !== base.startsWith('file:') || (!isFile && new URL(url).origin !== new URL(base).origin))
    throw new Error(`${url} is on another origin and was not read: bundle the description into one file`)
  if (!isFile) return (await fetchText(url)).text
  const path = fileURLToPath(url)
  // A pipe or a device would be waited for.
  if (existsSync(path) && !statSync(path).isFile()) throw new Error(`${path} is not a file`)
  return (await fetchText(path)).text
}

async function fetchUrl(from: string): Promise<Fetched> {
  const signal = AbortSignal.timeout(TIMEOUT)
  let url = parseUrl(from, from)
  for (let hops = 0; ; hops++) {
    const headers = { accept: 'application/json, application/yaml, text/*;q=0.9, */*;q=0.8' }
    try {
      const response = await fetch(url, { redirect: 'manual', headers, signal })
      const location = response.headers.get('location')
      if (response.status >= 300 && response.status < 400 && location !== null) {
        await response.body?.cancel()
        if (hops === MAX_REDIRECTS) throw new Failed(`it redirects more than ${MAX_REDIRECTS} times`)
        const next = parseUrl(new URL(location, url).href, from)
        if (url.protocol === 'https:' && next.protocol !== 'https:')
          throw new Failed('it redirects from https to http')
        url = next
        continue
      }
      if (!response.ok) {
        await response.body?.cancel()
        throw new Failed(`the server answered with the status ${response.status}`)
      }
      const body = response.body ? Readable.fromWeb(response.body as never) : Readable.from([])
      const text = await readText(body, from)
      if (/^\s*(?:<!doctype html|<html)/i.test(text))
        throw new Failed('the response is a web page: give the URL of the description')
      return { text, base: url.href }
    } catch (error) {
      throw new Error(`cannot fetch ${from}: ${reasonOf(error)}`)
    }
  }
}

class Failed extends Error {}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException }
  if (name === 'TimeoutError') return `no response within ${TIMEOUT / 1000} s`
  return cause?.code ?? cause?.message ?? message
}

function parseUrl(text: string, from: string): URL {
  try {
    const url = new URL(text)
    if (url.protocol === 'http:' || url.protocol === 'https:') return url
  } catch {
    // Told below.
  }
  throw new Error(`cannot fetch ${from}: ${text} is not an HTTP or HTTPS URL`)
}

async function readText(stream: AsyncIterable<Uint8Array>, from: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > MAX_SIZE) throw new Failed(`${from} is larger than ${MAX_SIZE / 1024 / 1024} MiB`)
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new Failed(`${from} is not UTF-8 text`)
  }
}
