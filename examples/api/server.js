// A small shop over HTTP: the upstream of examples/configs/shop.yaml. Everything is kept in memory.
//
//   node examples/api/server.js          serves http://127.0.0.1:5236, or the port in SHOP_PORT
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const RATES = { EUR: 1, USD: 1.1, JPY: 160 }
const MAX_BODY = 4 * 1024 * 1024

const products = [
  { sku: 'FERN-1', name: 'Boston fern', category: 'fern', tags: ['indoor', 'shade'], price: 12.5, stock: 7 },
  {
    sku: 'CACT-1',
    name: 'Bunny ear cactus',
    category: 'cactus',
    tags: ['indoor', 'sun'],
    price: 8,
    stock: 0,
  },
  { sku: 'ROSE-1', name: 'Climbing rose', category: 'rose', tags: ['outdoor', 'sun'], price: 21.9, stock: 3 },
]

/** The shop, not yet listening; each call makes a shop of its own. */
export function createShop() {
  const orders = []
  const photos = []

  return createServer(async (request, response) => {
    const url = new URL(request.url, 'http://shop')
    const [collection, id, detail] = url.pathname.split('/').slice(1).map(decodeURIComponent)
    const route = `${request.method} ${collection}${id === undefined ? '' : '/{id}'}${detail ? `/${detail}` : ''}`
    const send = (status, value) => {
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(value))
    }

    try {
      if (route === 'GET products') return send(200, search(url.searchParams))
      if (route === 'GET products/{id}') {
        const product = products.find(({ sku }) => sku === id)
        if (!product) return send(404, { code: 'no_such_product', message: `There is no product ${id}.` })
        const currency = request.headers['x-currency'] ?? 'EUR'
        return send(200, { ...product, price: product.price * (RATES[currency] ?? 1), currency })
      }
      if (route === 'GET products/{id}/photo') {
        response.writeHead(200, { 'Content-Type': 'image/png' })
        return response.end(PNG)
      }
      if (route === 'POST orders') {
        const order = JSON.parse((await readBody(request)).toString())
        const lacking = order.items.find(({ sku, quantity }) => {
          const product = products.find((each) => each.sku === sku)
          return !product || product.stock < quantity
        })
        if (lacking)
          return send(409, { code: 'out_of_stock', sku: lacking.sku, message: 'Not enough in stock.' })
        orders.push(order)
        return send(201, { number: orders.length, trace: request.headers['x-trace-id'], ...order })
      }
      if (route === 'DELETE orders/{id}') {
        orders[Number(id) - 1] = undefined
        response.writeHead(204)
        return response.end()
      }
      if (route === 'POST photos') {
        const form = await new Response(await readBody(request), {
          headers: { 'Content-Type': request.headers['content-type'] ?? '' },
        }).formData()
        const files = form.getAll('images')
        photos.push(...files)
        return send(201, {
          sku: form.get('sku'),
          caption: form.get('caption'),
          images: files.map(({ name, type, size }) => ({ name, type, size })),
        })
      }
      send(404, { code: 'no_such_route', message: `${request.method} ${url.pathname} is not served here.` })
    } catch (error) {
      if (!response.headersSent) send(400, { code: 'bad_request', message: error.message })
    }
  })
}

function search(query) {
  const tags = query.getAll('tag')
  const found = products.filter(
    (product) =>
      (!query.has('category') || product.category === query.get('category')) &&
      tags.every((tag) => product.tags.includes(tag)) &&
      (query.get('in_stock') !== 'true' || product.stock > 0),
  )
  return { total: found.length, products: found.slice(0, Number(query.get('limit') ?? 20)) }
}

async function readBody(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY) throw new Error('The body is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const port = Number(process.env.SHOP_PORT ?? 5236)
  createShop().listen(port, '127.0.0.1', () => console.log(`shop on http://127.0.0.1:${port}/products`))
}
