import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { type Restartable, restartable } from './restartable.ts'

export interface TokenRequest {
  url: string
  authorization: string | undefined
  form: URLSearchParams
}

/** The token endpoint of an authorization server, over a real socket. */
export interface TokenServer extends Restartable {
  url: string
  /** What the metadata name. */
  endpoint: string
  /** How clients may log in, as the metadata say it; undefined: they do not. */
  methods: string[] | undefined
  /** Further members of the metadata. */
  more: object
  asked: TokenRequest[]
  /** Seconds that tokens live; undefined: it does not say. */
  lifetime: number | string | undefined
  /** Tokens that are good, each with whose it is: the client's, or that of the token that was exchanged. */
  live: Map<string, string>
  /** What responds instead; undefined: nothing does. */
  respond: ((response: ServerResponse, request: TokenRequest) => void) | undefined
  /** Resolves with the next request, before it is answered. */
  next(): Promise<void>
}

export const CLIENT = { clientId: 'gate way', clientSecret: 's:cret/ü' }
const LOGIN = `Basic ${Buffer.from('gate+way:s%3Acret%2F%C3%BC').toString('base64')}`

export async function tokenServer(t: Pick<TestContext, 'after'>): Promise<TokenServer> {
  let count = 0
  let heard = () => {}
  const { origin, stop, start } = await restartable(t, answer)
  const made: TokenServer = {
    origin,
    url: `${origin}/token`,
    endpoint: `${origin}/token`,
    methods: undefined,
    more: {},
    asked: [],
    lifetime: 100,
    live: new Map(),
    respond: undefined,
    next: () =>
      new Promise((resolve) => {
        heard = resolve
      }),
    stop,
    start,
  }

  function answer(request: IncomingMessage, response: ServerResponse, body: string) {
    const { url = '', headers } = request
    const form = new URLSearchParams(body)
    const asked = { url, authorization: headers.authorization, form }
    if (url.includes('/.well-known/'))
      return json(response, 200, {
        issuer: origin,
        token_endpoint: made.endpoint,
        ...made.more,
        ...(made.methods && { token_endpoint_auth_methods_supported: made.methods }),
      })
    made.asked.push(asked)
    heard()
    if (made.respond) return made.respond(response, asked)
    if (!knows(asked)) return json(response, 401, { error: 'invalid_client', error_description: body })
    const subject = form.get('subject_token')
    if (subject === 'revoked') return json(response, 400, { error: 'invalid_grant' })
    const token = `token-${++count}.${Buffer.from(`${count} of ${form.get('grant_type')}`).toString('base64url')}`
    made.live.set(token, subject ?? 'gateway')
    const more = made.lifetime === undefined ? {} : { expires_in: made.lifetime }
    const type = 'urn:ietf:params:oauth:token-type:access_token'
    return json(response, 200, {
      access_token: token,
      token_type: 'bearer',
      ...(subject !== null && { issued_token_type: type }),
      ...more,
    })
  }

  return made
}

/** By either way of RFC 6749, 2.3.1. */
function knows({ authorization, form }: TokenRequest): boolean {
  if (authorization !== undefined) return authorization === LOGIN
  return form.get('client_id') === CLIENT.clientId && form.get('client_secret') === CLIENT.clientSecret
}

export function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
