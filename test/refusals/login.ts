import { APP, alone, bearer, type Chapter, challengeAt, type Refusal, type Sent } from './refusal.ts'

const OWN = 'Bearer'
const call = (path: string, headers: Sent['headers'] = {}) =>
  alone(path, 'tools/call', { name: 'get_item', arguments: { id: 1 } }, headers)

/** The same without credentials at each endpoint and method of a prefix. */
const without: Refusal[] = (
  [
    ['POST', '/jwt/mcp', '/jwt/mcp'],
    ['GET', '/jwt/mcp', '/jwt/mcp'],
    ['DELETE', '/jwt/mcp', '/jwt/mcp'],
    ['PUT', '/jwt/mcp', '/jwt/mcp'],
    ['GET', '/jwt/sse', '/jwt/sse'],
    ['POST', '/jwt/message?sessionId=x', '/jwt/sse'],
  ] as const
).map(([method, path, endpoint]) => ({
  when: `\`type: jwt\`, no token, ${method} ${path}`,
  send: { method, path },
  answer: { status: 401, error: -32600, challenge: challengeAt(endpoint, 'plants:read') },
  why: 'The challenge names the metadata of this endpoint (RFC 9728, 5.1), where a client finds the authorization server. Without a token it has no `error` (RFC 6750, 3).',
}))

const bad = (when: string, token: string, why: string): Refusal => ({
  when: `\`type: jwt\`, ${when}`,
  send: call('/jwt', bearer(token)),
  answer: { status: 401, error: -32600, challenge: challengeAt('/jwt/mcp', 'plants:read', 'invalid_token') },
  why,
})

/** Where nobody can judge a token now. */
const UNAVAILABLE = { status: 503, error: -32600, headers: { 'retry-after': '5' } }
const CLAIM = 'Ask the authorization server for a token with this claim.'

export const LOGIN: Chapter = {
  title: 'Logging in',
  about:
    'Before a message is read. `/bearer` has `type: bearer`, `/jwt` has `type: jwt` with `scopes: [plants:read]`, `/introspection` has `type: introspection`; `publicUrl` is `https://tools.example.com`.',
  rows: [
    {
      when: '`type: bearer`, no token',
      send: call('/bearer'),
      answer: { status: 401, error: -32600, challenge: OWN },
      why: 'Send `Authorization: Bearer <token>`.',
    },
    {
      when: '`type: bearer`, an unknown token',
      send: call('/bearer', { authorization: 'Bearer unknown-token' }),
      answer: { status: 401, error: -32600, challenge: `${OWN} error="invalid_token"` },
      why: 'The token is not in `tokens`.',
    },
    {
      when: '`type: bearer`, a token that has expired',
      send: call('/bearer', { authorization: 'Bearer the-old-token-of-the-agent' }),
      answer: { status: 401, error: -32600, challenge: `${OWN} error="invalid_token"` },
      why: 'Its `expires` is over.',
    },
    {
      when: '`type: bearer`, the digest in place of the token',
      send: call('/bearer', { authorization: 'Bearer sha256:<digest>' }),
      answer: { status: 401, error: -32600, challenge: `${OWN} error="invalid_token"` },
      why: 'A digest in the file opens nothing.',
    },
    {
      when: '`type: bearer`, the token by Basic',
      send: call('/bearer', { authorization: 'Basic YWdlbnQ6YWdlbnQ=' }),
      answer: { status: 401, error: -32600, challenge: OWN },
      why: 'The scheme is Bearer.',
    },
    {
      when: '`type: bearer`, the token without a scheme',
      send: call('/bearer', { authorization: '<token agent>' }),
      answer: { status: 401, error: -32600, challenge: OWN },
      why: 'Write `Bearer` before the token.',
    },
    {
      when: '`type: bearer`, the token in the query',
      send: { ...call('/bearer'), path: '/bearer/mcp?access_token=<token agent>' },
      answer: { status: 401, error: -32600, challenge: OWN },
      why: 'URLs are logged; the query is not read.',
    },
    {
      when: '`type: bearer`, a token of another router',
      send: call('/bearer', bearer('ops')),
      answer: { status: 401, error: -32600, challenge: `${OWN} error="invalid_token"` },
      why: 'Each router has its own tokens.',
    },
    {
      when: '`type: bearer`, no token, GET /bearer/sse',
      send: { method: 'GET', path: '/bearer/sse' },
      answer: { status: 401, error: -32600, challenge: OWN },
      why: 'All endpoints of the prefix want the token.',
    },
    ...without,
    {
      when: '`type: jwt`, Bearer without a token',
      send: call('/jwt', { authorization: 'Bearer ' }),
      answer: {
        status: 401,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'invalid_token'),
      },
      why: 'There is nothing behind the scheme.',
    },
    {
      when: '`type: jwt`, another scheme',
      send: call('/jwt', { authorization: 'Basic YWdlbnQ6YWdlbnQ=' }),
      answer: { status: 401, error: -32600, challenge: challengeAt('/jwt/mcp', 'plants:read') },
      why: 'Credentials of another scheme are no token, so the challenge has no `error`.',
    },
    {
      when: '`type: jwt`, two tokens in one header',
      send: call('/jwt', { authorization: 'Bearer <token good>, Bearer <token good>' }),
      answer: {
        status: 401,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'invalid_token'),
      },
      why: 'A request has one token.',
    },
    {
      when: '`type: jwt`, a wrong token, then a good one in another header',
      send: call('/jwt', { authorization: ['Bearer <token expired>', 'Bearer <token good>'] }),
      answer: { status: 400, error: -32600 },
      why: 'A proxy could have judged the other one.',
    },
    {
      when: '`type: jwt`, a good token, then a wrong one in another header',
      send: call('/jwt', { authorization: ['Bearer <token good>', 'Bearer <token expired>'] }),
      answer: { status: 400, error: -32600 },
      why: 'A proxy could have judged the other one.',
    },
    {
      when: '`type: bearer`, the same token in two headers',
      send: call('/bearer', { authorization: ['Bearer <token agent>', 'bearer <token agent>'] }),
      answer: { status: 400, error: -32600 },
      why: 'A request has one token.',
    },
    {
      when: '`type: jwt`, a token that is bound to a key of its client (`cnf`)',
      send: call('/jwt', bearer('bound')),
      answer: {
        status: 401,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'invalid_token'),
      },
      why: 'A thief could use it here, because the gateway does not check the key. Ask for a token without DPoP or mTLS.',
    },
    {
      when: '`type: jwt`, a token for a logout',
      send: call('/jwt', bearer('logout')),
      answer: {
        status: 401,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'invalid_token'),
      },
      why: '`typ` of an access token is `at+jwt` (RFC 9068, 4), `JWT`, or absent.',
    },
    {
      when: '`type: jwt`, a good token in the query',
      send: { ...call('/jwt'), path: '/jwt/mcp?access_token=<token good>' },
      answer: {
        status: 400,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'invalid_request'),
      },
      why: 'URLs are logged: MCP forbids tokens in the query.',
    },
    {
      when: '`type: jwt`, a token in the query and one in the header',
      send: { ...call('/jwt', bearer('good')), path: '/jwt/mcp?access_token=x' },
      answer: {
        status: 400,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'invalid_request'),
      },
      why: 'More than one way to send a token is refused (RFC 6750, 3.1).',
    },
    bad('not a JWT', 'opaque', 'The authorization server issues opaque tokens: use `type: introspection`.'),
    bad('`alg: none`', 'none', 'It is not signed.'),
    bad('`alg: HS256`', 'HS256', 'A shared secret that checks tokens can also make them (RFC 8725, 2.1).'),
    bad('signed with a key of somebody else', 'forged', 'The signature is not of a key of the issuer.'),
    bad('a changed payload', 'changed', 'The signature is of another payload.'),
    bad('an unknown `kid`', 'kid', 'The issuer does not publish this key; the keys were fetched again.'),
    bad(
      '`alg` of another key',
      'alg',
      'The key with this `kid` is one for another algorithm (RFC 8725, 3.1).',
    ),
    bad(
      'an unknown `crit`',
      'crit',
      'It demands an extension; the gateway supports none (RFC 7515, 4.1.11).',
    ),
    bad('an unknown issuer', 'iss', 'Only `issuers` of the router are trusted.'),
    bad('no `iss`', 'no iss', CLAIM),
    bad(
      'another audience',
      'aud',
      'It was issued for another resource: the client asks with `resource`, or list the value as `audience`.',
    ),
    bad(
      'the audience with a slash at the end',
      'slash',
      '`aud` is compared exactly: list the value as `audience`.',
    ),
    bad('the host of the gateway as audience', 'host', 'The resource is the endpoint, not the host.'),
    bad('no `aud`', 'no aud', CLAIM),
    bad('an audience that is an object', 'object aud', '`aud` is a text or a list.'),
    bad('expired', 'expired', 'Refresh the token, or compare the clocks of both machines.'),
    bad('no `exp`', 'no exp', CLAIM),
    bad('`exp` as a text', 'text exp', '`exp` is a number (RFC 7519, 2).'),
    bad('not valid yet', 'nbf', '`nbf` is in the future: compare the clocks of both machines.'),
    bad('no `sub` and no `client_id`', 'no sub', 'Its sessions would have no owner.'),
    bad(
      'of the type of an ID token, for a client',
      'id token',
      'Send the access token: an ID token names the client as audience.',
    ),
    {
      when: '`type: jwt`, a scope is missing',
      send: call('/jwt', bearer('scopeless')),
      answer: {
        status: 403,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'insufficient_scope'),
      },
      why: 'Ask for a token with the scopes of the challenge (step-up).',
    },
    {
      when: '`type: jwt`, a scope is missing, GET',
      send: { method: 'GET', path: '/jwt/mcp', headers: bearer('scopeless') },
      answer: {
        status: 403,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'insufficient_scope'),
      },
      why: 'Every method wants the scopes.',
    },
    {
      when: '`type: jwt`, a scope in another case',
      send: call('/jwt', bearer('case')),
      answer: {
        status: 403,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read', 'insufficient_scope'),
      },
      why: 'Scopes are case-sensitive (RFC 6749, 3.3).',
    },
    {
      when: '`type: jwt`, the issuer does not respond',
      send: call('/jwt-down', bearer('good')),
      answer: UNAVAILABLE,
      why: 'The gateway has never seen the keys. Look whether it reaches the issuer (`plantgw check-endpoints`).',
    },
    {
      when: '`type: jwt`, no token, from a web page',
      send: call('/jwt', { origin: APP }),
      answer: {
        status: 401,
        error: -32600,
        challenge: challengeAt('/jwt/mcp', 'plants:read'),
        headers: {
          'access-control-allow-origin': APP,
          'access-control-expose-headers': 'WWW-Authenticate',
          vary: 'Origin',
        },
      },
      why: 'Refusals have the headers of CORS, so that the page can read the challenge.',
    },
    {
      when: '`type: introspection`, no token',
      send: call('/introspection'),
      answer: { status: 401, error: -32600, challenge: challengeAt('/introspection/mcp', 'plants:read') },
      why: 'As with `type: jwt`.',
    },
    ...(
      [
        ['an unknown token', 'unknown', 401],
        ['a revoked token', 'revoked', 401],
        ['another audience', 'introspected aud', 401],
        ['expired', 'introspected expired', 401],
        ['a refresh token', 'introspected refresh', 401],
        ['a scope is missing', 'introspected scopeless', 403],
      ] as const
    ).map(([when, token, status]) => ({
      when: `\`type: introspection\`, ${when}`,
      send: call('/introspection', bearer(token)),
      answer: {
        status,
        error: -32600,
        challenge: challengeAt(
          '/introspection/mcp',
          'plants:read',
          status === 401 ? 'invalid_token' : 'insufficient_scope',
        ),
      },
      why: 'The answer of the issuer (RFC 7662) is checked like the claims of a JWT.',
    })),
    {
      when: '`type: jwt`, the issuer has more than 100 keys',
      send: call('/jwt-many', bearer('many')),
      answer: UNAVAILABLE,
      why: 'A key set has at most 256 KiB and 100 keys. The log names the limit.',
    },
    {
      when: '`type: jwt`, the metadata are those of another issuer',
      send: call('/jwt-mixup', bearer('mixup')),
      answer: UNAVAILABLE,
      why: 'Its `issuer` must be the one of the router (RFC 8414, 3.3): another server could vouch for tokens.',
    },
    {
      when: '`type: introspection`, an answer of 10 MB',
      send: call('/introspection', bearer('large')),
      answer: UNAVAILABLE,
      why: 'The rest is not read.',
    },
    {
      when: '`type: introspection`, the issuer does not respond',
      send: call('/introspection-down', bearer('unknown')),
      answer: UNAVAILABLE,
      why: 'The token cannot be checked.',
    },
    {
      when: 'a prefix of a tenant, the token of another tenant',
      send: call('/green/tools', bearer('blue')),
      answer: { status: 401, error: -32600, challenge: `${OWN} error="invalid_token"` },
      why: 'Tokens of a tenant open its prefixes only.',
    },
    {
      when: 'a prefix of a tenant, no token',
      send: call('/green/tools'),
      answer: { status: 401, error: -32600, challenge: OWN },
      why: 'A tenant with tokens wants one at each of its prefixes.',
    },
    {
      when: 'metadata of a prefix without authorization server',
      send: { method: 'GET', path: '/.well-known/oauth-protected-resource/bearer/mcp' },
      answer: { status: 404, error: 'page' },
      why: 'Only `type: jwt` and `type: introspection` have metadata.',
    },
    {
      when: 'metadata, POST',
      send: { path: '/.well-known/oauth-protected-resource/jwt/mcp', body: {} },
      answer: {
        status: 405,
        error: -32600,
        headers: { allow: 'GET, HEAD', 'access-control-allow-origin': null },
      },
      why: 'It is read by GET.',
    },
  ],
}
