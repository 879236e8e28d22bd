// Real clients, and calls that any replica may be told of, in front of two gateways of two workers each.
process.env.PLANTGW_WORKERS = '2'
await import('./clients.test.ts')
await import('./everywhere.test.ts')
