// `npm start`: the shop of configs/shop.yaml, and the gateway in front of it and of the plant store.
import { main } from '../dist/cli/main.js'
import { createShop } from './api/server.js'

const shop = createShop().listen(5236, '127.0.0.1')
shop.on('error', (error) => console.error(`The example shop does not run: ${error.message}`))
const settings = ['--settings', 'examples/plantgw.yaml']
process.exitCode = await main(['serve', 'examples/configs', ...settings, ...process.argv.slice(2)])
shop.close()
shop.closeAllConnections()
