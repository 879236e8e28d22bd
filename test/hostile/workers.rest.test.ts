// Hostile inputs to a gateway of three workers.
process.env.PLANTGW_WORKERS = '3'
await import('./wire.rest.test.ts')
