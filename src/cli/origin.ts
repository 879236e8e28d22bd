import type { Settings } from '../config/index.ts'

/** Where a gateway with these settings is reached from this machine, such as `http://127.0.0.1:5235`. */
export function originOf({ host, port }: Pick<Settings, 'host' | 'port'>): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
