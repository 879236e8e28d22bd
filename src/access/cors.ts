import type { Cors } from '../config/model.ts'
import { HttpResponse } from './http-response.ts'
import type { CorsPolicy, Step } from './steps.ts'

/** CORS of public documents. */
export const OPEN_CORS: CorsPolicy = createCors({
  allowOrigins: ['*'],
  allowMethods: ['GET', 'HEAD', 'OPTIONS'],
  allowHeaders: ['*'],
  exposeHeaders: [],
  allowCredentials: false,
})

export function createCors(cors: Cors): CorsPolicy {
  const any = cors.allowOrigins.includes('*')
  const origins = new Set(cors.allowOrigins.map((origin) => origin.toLowerCase()))
  // Browsers refuse `*` together with credentials, which a finding reports.
  const open = any && !cors.allowCredentials
  const credentials = cors.allowCredentials && !any ? { 'access-control-allow-credentials': 'true' } : {}
  const expose = cors.exposeHeaders.length
    ? { 'access-control-expose-headers': cors.exposeHeaders.join(', ') }
    : {}
  const vary: Record<string, string> = open ? {} : { vary: 'Origin' }

  const base = (origin: string) => ({
    'access-control-allow-origin': open ? '*' : origin,
    ...credentials,
    ...vary,
  })
  return {
    vary,
    allows: (origin) => any || origins.has(origin.toLowerCase()),
    headers: (origin) => ({ ...base(origin), ...expose }),
    preflight: (origin) => ({
      ...base(origin),
      'access-control-allow-methods': cors.allowMethods.join(', '),
      'access-control-allow-headers': cors.allowHeaders.join(', '),
      'access-control-max-age': '600',
    }),
  }
}

/** Adds CORS headers and answers preflights, which have no credentials (Fetch, 3.2.2). */
export const corsStep: Step = {
  name: 'cors',
  async run({ method, headers: { origin }, cors, allow, replyHeaders }) {
    const own = origin !== undefined && cors?.allows(origin) ? cors : undefined
    if (method === 'OPTIONS')
      return new HttpResponse(204, { allow, ...(own?.preflight(origin as string) ?? cors?.vary) })
    if (cors) Object.assign(replyHeaders, own?.headers(origin as string) ?? cors.vary)
    return undefined
  },
}
