import type { Dispatcher } from 'undici'
import type { Hold } from '../access/memory.ts'
import { sizeText, timeText } from '../text/index.ts'
import { CallError, errorCode, networkError } from './failure.ts'
import type { CancelSignal } from './types.ts'

/** A request as it goes over the wire. */
export interface UpstreamRequest {
  method: string
  /** Scheme, host and port. */
  origin: string
  /** Path and query, ASCII. */
  path: string
  /** Names and values in turn. */
  headers: string[]
  body?: string | Buffer
}

export interface Answer {
  status: number
  reason: string
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface ExchangeOptions {
  dispatcher: Dispatcher
  /** Milliseconds left for this exchange. */
  remaining: number
  /** Milliseconds of the whole call, for the message. */
  timeout: number
  /** Bytes. */
  maxResponseSize: number
  signal: CancelSignal
  /** Has the bytes of the answer; absent: they are not counted. */
  hold?: Hold
  /** Whether the dispatcher goes through a proxy. */
  proxied: boolean
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Sends one request and reads its answer whole, within the time and the size given.
 * A safe request that met a kept-alive socket which the upstream was just closing is sent once more.
 * @throws CallError
 */
export async function exchange(request: UpstreamRequest, options: ExchangeOptions): Promise<Answer> {
  const begin = performance.now()
  try {
    return await once(request, options)
  } catch (error) {
    if (!SAFE.has(request.method) || !isStaleSocket(error)) throw failed(error, request, options)
  }
  try {
    return await once(request, { ...options, remaining: options.remaining - (performance.now() - begin) })
  } catch (error) {
    throw failed(error, request, options)
  }
}

function failed(
  error: unknown,
  { origin, method }: UpstreamRequest,
  { proxied }: ExchangeOptions,
): CallError {
  const known = networkError(error, origin, proxied)
  return known.failure === 'network' ? new CallError('network', known.text + doubt(method)) : known
}

/** Sending it again could do it twice. */
function doubt(method: string): string {
  return SAFE.has(method) ? '' : ' Whether the request was carried out is not known.'
}

/** The socket had served an answer before, and was closed without a byte of this one. */
function isStaleSocket(error: unknown): boolean {
  if (error instanceof CallError || (error as { answered?: boolean }).answered) return false
  const code = errorCode(error)
  const socket = (error as { socket?: { bytesRead?: number } | null }).socket
  if (code === 'UND_ERR_SOCKET') return (socket?.bytesRead ?? 0) > 0
  return code === 'ECONNRESET' || code === 'EPIPE'
}

function once(request: UpstreamRequest, options: ExchangeOptions): Promise<Answer> {
  const { dispatcher, remaining, timeout, maxResponseSize, signal, hold } = options
  const { origin, path, method, headers, body } = request
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let settled = false
    let answer: Answer | undefined
    const chunks: Buffer[] = []
    let size = 0

    function settle(): boolean {
      if (settled) return false
      settled = true
      clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
      return true
    }
    // A request that still waits for a socket has no controller yet: it is aborted when it gets one.
    function stop(error: CallError): void {
      if (!settle()) return
      reject(error)
      controller?.abort(error)
    }
    const cancel = () => stop(new CallError('cancelled', 'The call was cancelled.'))
    const tooLarge = () =>
      stop(
        new CallError(
          'too-large',
          `${origin} answered ${answer?.status}, but with more than the limit of ${sizeText(maxResponseSize)} (maxResponseSize).`,
        ),
      )
    const timer = setTimeout(
      () =>
        stop(
          new CallError(
            'timeout',
            `${origin} did not answer completely within ${timeText(timeout)} (timeout).${controller ? doubt(method) : ''}`,
          ),
        ),
      Math.max(1, remaining),
    )
    if (signal.aborted) return cancel()
    signal.addEventListener('abort', cancel)

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        if (settled) started.abort(new Error('too late'))
      },
      onResponseStart(_controller, status, received, reason) {
        if (status < 200) return
        answer = { status, reason: reason ?? '', headers: received, body: EMPTY }
        if (method !== 'HEAD' && Number(received['content-length']) > maxResponseSize) tooLarge()
      },
      onResponseData(_controller, chunk) {
        size += chunk.length
        if (size > maxResponseSize) tooLarge()
        else if (hold && !hold.add(chunk.length)) stop(noRoom(origin))
        else if (!settled) chunks.push(chunk)
      },
      onResponseEnd() {
        if (!settle() || !answer) return
        answer.body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)
        resolve(answer)
      },
      onResponseError(_controller, error) {
        if (!settle()) return
        if (answer) Object.assign(error, { answered: true })
        reject(error)
      },
    }
    try {
      dispatcher.dispatch(
        { origin, path, method: method as Dispatcher.HttpMethod, headers, body: body ?? null },
        handler,
      )
    } catch (error) {
      if (settle()) reject(error)
    }
  })
}

/** The gateway holds as much as it may. */
export function noRoom(origin: string): CallError {
  return new CallError(
    'no-room',
    `The gateway has no room for the answer of ${origin} at the moment (maxBuffered): try again later.`,
  )
}

const EMPTY = Buffer.alloc(0)
