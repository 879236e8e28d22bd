// The official suite through a gateway of three workers.
process.env.PLANTGW_WORKERS = '3'
await import('./gateway.test.ts')
