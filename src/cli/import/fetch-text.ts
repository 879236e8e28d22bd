import { createReadStream, existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Source } from '../../config/index.ts'
import { notPlain } from '../../config/plain-file.ts'
import { ENCODINGS, fetchOnce, guardsOfCommands, NetFault } from '../../net/index.ts'
import { notText } from '../../text/index.ts'
import { REASONS } from '../read-in-time.ts'

interface Fetched extends Source {
  /** URL after redirects; undefined for a file. */
  base?: string
}

const MAX_SIZE = 64 * 1024 * 1024
const HEADERS = {
  accept: 'application/json, application/yaml, text/*;q=0.9, */*;q=0.8',
  'accept-encoding': ENCODINGS,
  'user-agent': 'plantgw',
}

/**
 * The text of a file, of an http or https URL, or of standard input for `-`.
 * @throws Error with the reason
 */
export async function fetchText(from: string): Promise<Fetched> {
  if (/^https?:\/\//i.test(from)) return await fetchUrl(from)
  if (/^[a-z][a-z\d+.-]+:\/\//i.test(from))
    throw new Error(`cannot read ${from}: give a file, or an HTTP or HTTPS URL`)
  try {
    if (from === '-') return { file: from, text: await readText(process.stdin, from) }
    const fault = notPlain(from, statSync(from))
    if (fault) throw fault
    return { file: from, text: await readText(createReadStream(from), from) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === undefined ? error : new Error(`cannot read ${from}: ${REASONS[code] ?? message}`)
  }
}

/** The same, or a command line itself. */
export async function lineOrText(from: string): Promise<Source> {
  const isLine = /\s/.test(from.trim()) && !existsSync(from)
  return isLine ? { file: 'the command line', text: from } : fetchText(from)
}

/**
 * The text of a reference in a text from `base`: a file beside a file, or a URL of the same origin.
 * @throws Error with the reason
 */
export async function fetchOther(url: string, base: string): Promise<string> {
  const isFile = url.startsWith('file:')
  if (isFile !== base.startsWith('file:') || (!isFile && new URL(url).origin !== new URL(base).origin))
    throw new Error(`${url} is on another origin and was not read: bundle the description into one file`)
  if (!isFile) return (await fetchText(url)).text
  const path = fileURLToPath(url)
  // Reading a pipe or device would block.
  if (existsSync(path) && !statSync(path).isFile()) throw new Error(`${path} is not a file`)
  return (await fetchText(path)).text
}

async function fetchUrl(from: string): Promise<Fetched> {
  const begin = performance.now()
  const named = parseUrl(from, from).origin
  const guards = guardsOfCommands()
  let url = parseUrl(from, from)
  for (let hops = 0; ; hops++) {
    const { origin, pathname, search } = url
    const request = { method: 'GET', origin, path: pathname + search, headers: HEADERS }
    try {
      const { status, headers, body } = await fetchOnce(request, {
        timeout: 30_000,
        begin,
        maxSize: MAX_SIZE,
        guard: url.origin === named ? guards.named : guards.decided,
      })
      if (status >= 300 && status < 400 && headers.location !== undefined) {
        if (hops === 5) throw new Error(`it redirects more than 5 times`)
        const next = parseUrl(new URL(String(headers.location), url).href, from)
        if (url.protocol === 'https:' && next.protocol !== 'https:')
          throw new Error('it redirects from https to http')
        url = next
        continue
      }
      if (status < 200 || status >= 300) throw new Error(`the server answered with the status ${status}`)
      const text = decoded(body, from)
      if (/^\s*(?:<!doctype html|<html)/i.test(text))
        throw new Error('the response is a web page: give the URL of the description')
      return { file: from, text, base: url.href }
    } catch (error) {
      throw new Error(`cannot fetch ${from}: ${reasonOf(error as Error, from)}`)
    }
  }
}

function reasonOf(error: Error, from: string): string {
  if (!(error instanceof NetFault)) return error.message
  if (error.kind === 'outbound')
    return error.host === new URL(from).origin
      ? error.clause
      : `it redirects, and ${error.clause}: give the URL of the description itself`
  if (error.kind === 'timeout') return `no response within 30 s`
  return error.kind === 'too-large' ? tooLarge(from) : error.code || error.message
}

function parseUrl(text: string, from: string): URL {
  try {
    const url = new URL(text)
    if (url.protocol === 'http:' || url.protocol === 'https:') return url
  } catch {
    // Reported below.
  }
  throw new Error(`cannot fetch ${from}: ${text} is not an HTTP or HTTPS URL`)
}

async function readText(stream: AsyncIterable<Uint8Array>, from: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > MAX_SIZE) throw new Error(tooLarge(from))
    chunks.push(chunk)
  }
  return decoded(Buffer.concat(chunks), from)
}

function tooLarge(from: string): string {
  return `${from} is larger than ${MAX_SIZE / 1024 / 1024} MiB`
}

function decoded(bytes: Uint8Array, from: string): string {
  const fault = notText(bytes)
  if (fault) throw new Error(`${from} is ${fault.what}: ${fault.cure}`)
  return new TextDecoder().decode(bytes)
}
