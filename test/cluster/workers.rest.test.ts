// Real clients, and cancelled calls, in front of gateways of two workers each.
process.env.PLANTGW_WORKERS = '2'
await import('./clients.rest.test.ts')
await import('./cancelled.test.ts')
