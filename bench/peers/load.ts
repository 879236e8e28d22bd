import { Agent, type ClientRequest, request } from 'node:http'
import { connect, type Socket } from 'node:net'

/**
 * Clients of a gateway in a process of their own, on a core of their own. It gets a `Job` as a message, answers `ready` once
 * the connections are open, gets `go`, and answers with a `Done`.
 */
export interface Job {
  port: number
  path: string
  /** Messages by POST that share one session, or a session of HTTP with SSE for each connection. */
  transport: 'post' | 'sse'
  headers: Record<string, string>
  method: string
  params: object
  connections: number
  seconds: number
}

export interface Done {
  calls: number
  /** From the first request to the last answer. */
  seconds: number
  /** Milliseconds of a call. */
  p50: number
  p99: number
  /** What was answered instead of a result, at most one text of each kind. */
  faults: string[]
}

interface Lane {
  open(): Promise<void>
  /** One call; @returns the begin of its answer */
  call(id: number): Promise<string>
  close(): void
}

/** Bytes of an answer that are looked at. */
const LOOKED_AT = 4_096
const LAST_CHUNK = '0\r\n\r\n'

const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A connection that is written and read by hand: a client library would need more CPU than most gateways. */
function postLane({ port, path, headers, method, params }: Job): Lane {
  let socket: Socket
  let answered: (begin: string) => void = () => {}
  let failed: (error: Error) => void = () => {}
  let begin = ''
  let tail = ''
  let left = -1
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...ACCEPT, ...headers }).map(
    ([k, v]) => `${k}: ${v}`,
  )
  const head = [`POST ${path} HTTP/1.1`, ...lines].join('\r\n')
  const take = (bytes: Buffer) => {
    if (begin.length < LOOKED_AT) begin += bytes.toString('latin1', 0, LOOKED_AT)
    if (left < 0 && tail === '') {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) return failed(new Error(`head in parts: ${begin}`))
      const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, end))?.[1]
      if (length !== undefined) left = Number(length) + end + 4
    }
    if (left >= 0) left -= bytes.length
    tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - 5))).slice(-5)
    if (left > 0 || (left < 0 && tail !== LAST_CHUNK)) return
    const text = begin
    begin = ''
    tail = ''
    left = -1
    answered(text)
  }
  return {
    open: () =>
      new Promise((resolve, reject) => {
        socket = connect(port, '127.0.0.1', resolve).setNoDelay()
        socket.on('data', take)
        failed = reject
        socket.on('error', (error) => failed(error))
        socket.on('close', () => failed(new Error(`closed after ${begin}`)))
      }),
    call: (id) =>
      new Promise((resolve, reject) => {
        answered = resolve
        failed = reject
        const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
        socket.write(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
      }),
    close: () => {
      failed = () => {}
      socket.destroy()
    },
  }
}

/** A session of HTTP with SSE: answers come by the event stream. */
function sseLane({ port, path, headers, method, params }: Job): Lane {
  const agent = new Agent({ keepAlive: true })
  const waiting = new Map<number, (text: string) => void>()
  let stream: ClientRequest
  let endpoint = ''
  const send = (message: object) =>
    new Promise<void>((resolve, reject) => {
      const body = JSON.stringify({ jsonrpc: '2.0', ...message })
      const at = { host: '127.0.0.1', port, path: endpoint, method: 'POST', agent }
      const sent = request({ ...at, headers: { ...ACCEPT, ...headers, 'content-length': body.length } })
      sent.on('response', (response) => response.resume().on('end', resolve))
      sent.on('error', reject).end(body)
    })
  const asked = (id: number, name: string, given: object) =>
    new Promise<string>((resolve, reject) => {
      waiting.set(id, resolve)
      send({ id, method: name, params: given }).catch(reject)
    })
  const take = (event: string) => {
    const data = /^data: ?(.*)$/m.exec(event)?.[1] ?? ''
    const id = Number(/"id":\s*(\d+)/.exec(data)?.[1])
    waiting.get(id)?.(data.slice(0, LOOKED_AT))
    waiting.delete(id)
  }
  return {
    async open() {
      await new Promise<void>((resolve, reject) => {
        let text = ''
        stream = request({
          host: '127.0.0.1',
          port,
          path,
          headers: { accept: 'text/event-stream', ...headers },
        })
        stream.on('response', (response) =>
          response.setEncoding('utf8').on('data', (part: string) => {
            const events = (text + part).split(/\r?\n\r?\n/)
            text = events.pop() as string
            for (const event of events) {
              if (!/^event: ?endpoint/m.test(event)) take(event)
              else {
                const given = /^data: ?(.*)$/m.exec(event)![1]!.trim()
                const url = new URL(given, `http://127.0.0.1:${port}`)
                endpoint = url.pathname + url.search
                resolve()
              }
            }
          }),
        )
        stream.on('error', reject).end()
      })
      const clientInfo = { name: 'bench', version: '1' }
      await asked(0, 'initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo })
      await send({ method: 'notifications/initialized' })
    },
    call: (id) => asked(id, method, params),
    close() {
      stream.on('error', () => {}).destroy()
      agent.destroy()
    },
  }
}

async function run(job: Job, lanes: Lane[]): Promise<Done> {
  const times: number[] = []
  const faults = new Map<string, string>()
  const began = performance.now()
  const until = began + job.seconds * 1_000
  let ids = 0
  await Promise.all(
    lanes.map(async (lane) => {
      do {
        const at = performance.now()
        const text = await lane.call(++ids).catch((error: Error) => String(error))
        if (text.includes('"result"') && !/"isError": ?true/.test(text)) times.push(performance.now() - at)
        else {
          faults.set(text.slice(0, 40), text.slice(0, 400))
          if (text.startsWith('Error')) return
        }
      } while (performance.now() < until)
    }),
  )
  const seconds = (performance.now() - began) / 1_000
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { calls: times.length, seconds, p50: at(0.5), p99: at(0.99), faults: [...faults.values()] }
}

process.on('message', async (job: Job | 'go') => {
  if (job === 'go') return
  const lanes = Array.from({ length: job.connections }, () =>
    (job.transport === 'sse' ? sseLane : postLane)(job),
  )
  try {
    for (const lane of lanes) await lane.open()
    const go = new Promise((resolve) => process.once('message', resolve))
    process.send!('ready')
    await go
    process.send!(await run(job, lanes))
  } catch (error) {
    process.send!({ calls: 0, seconds: 0, p50: 0, p99: 0, faults: [String(error)] } satisfies Done)
  } finally {
    for (const lane of lanes) lane.close()
  }
})
