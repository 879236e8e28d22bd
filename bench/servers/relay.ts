import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Pool } from 'undici'

/** The least that passes a call on: to `UPSTREAM` by HTTP, or to a child by its pipes. */
const app = new Hono()
const { UPSTREAM } = process.env

if (UPSTREAM) {
  const pool = new Pool(UPSTREAM)
  app.post('/mcp', async (c) => {
    const headers: Record<string, string> = {}
    for (const name of [
      'accept',
      'content-type',
      'mcp-session-id',
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
    ]) {
      const value = c.req.header(name)
      if (value !== undefined) headers[name] = value
    }
    const answer = await pool.request({ method: 'POST', path: '/mcp', headers, body: await c.req.text() })
    const session = answer.headers['mcp-session-id']
    return new Response(await answer.body.text(), {
      status: answer.statusCode,
      headers: { 'content-type': 'application/json', ...(session && { 'mcp-session-id': String(session) }) },
    })
  })
} else {
  const [command, ...args] = process.argv.slice(2) as [string, ...string[]]
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, (message: object) => void>()
  let count = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  app.post('/mcp', async (c) => {
    const message = await c.req.json()
    const id = ++count
    const answer = new Promise<object>((resolve) => waiting.set(id, resolve))
    child.stdin.write(`${JSON.stringify({ ...message, id })}\n`)
    const text = JSON.stringify({ ...(await answer), id: message.id })
    return new Response(text, { headers: { 'content-type': 'application/json' } })
  })
}

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' }, () => console.log('ready'))
