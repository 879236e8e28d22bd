import { createServer } from 'node:http'

/** The HTTP API behind every target: answers at once with one small JSON document. */
const ITEM = JSON.stringify({ id: 42, name: 'Fern', tags: ['shade', 'wet'], note: 'x'.repeat(120) })
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(ITEM) }

const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, headers).end(ITEM)
})
server.keepAliveTimeout = 60_000
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'))
