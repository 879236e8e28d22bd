import { serve } from '@hono/node-server'
import { openPlants } from '../../src/plants/index.ts'
import { TOKENS } from './helpers.ts'

// Serves the plant store in the storage given on the command line as JSON, and tells its parent the port.
const { app } = await openPlants({ basePath: '/', storage: JSON.parse(process.argv[2]!), tokens: TOKENS })
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send!(port))
