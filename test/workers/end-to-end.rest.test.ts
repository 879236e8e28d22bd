// Draining and TLS, with renewed certificates and limits of connections, by a gateway of three workers.
process.env.PLANTGW_WORKERS = '3'
await import('../e2e/drain.test.ts')
await import('../e2e/tls.test.ts')
