// Real clients in front of two gateways of two workers each.
process.env.PLANTGW_WORKERS = '2'
await import('./clients.test.ts')
