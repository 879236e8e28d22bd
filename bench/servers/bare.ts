import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Pool } from 'undici'

/** The least that does the same work: reads JSON, calls the upstream once, answers JSON. */
const pool = new Pool(process.env.UPSTREAM as string)
const app = new Hono()

app.post('/call', async (c) => {
  const { id, params } = await c.req.json()
  const path = `/items/${encodeURIComponent(params.arguments.id)}?tag=${encodeURIComponent(params.arguments.tag)}`
  const { body } = await pool.request({ method: 'GET', path, headers: { authorization: 'Bearer x' } })
  const text = await body.text()
  return c.json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
})

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' }, () => console.log('ready'))
