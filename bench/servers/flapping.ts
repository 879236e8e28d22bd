import { createServer } from 'node:http'

/** An HTTP API that is well for two seconds, refuses for half a second, and cuts connections for half a second. */
const PERIOD = 3_000
const ITEM = '{"id":42,"name":"Fern"}'

const server = createServer((request, response) => {
  request.resume()
  const at = Date.now() % PERIOD
  if (at > 2_500) return void response.destroy()
  const status = at > 2_000 ? 503 : 200
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': ITEM.length }).end(ITEM)
})
server.keepAliveTimeout = 60_000
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'))
