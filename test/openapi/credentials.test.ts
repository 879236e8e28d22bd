import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { document, imported, operation, toolsOf } from './imported.ts'

const text = (name: string, place: string, required = false) => ({
  name,
  in: place,
  required,
  schema: { type: 'string' },
})
const ENV = { SHOP_TOKEN: 's&t', SHOP_API_KEY: 'k', SHOP_X_AUTH_TOKEN: 'x' }

test('what is named like a credential is no argument, wherever it stands', async () => {
  const body = (type: string) => ({
    required: true,
    content: {
      [type]: {
        schema: {
          type: 'object',
          required: ['name', 'token'],
          properties: { name: { type: 'string' }, token: { type: 'string' }, apiKey: { type: 'string' } },
        },
      },
    },
  })
  const post = (operationId: string, type: string) => ({
    operationId,
    summary: `Sends ${operationId}`,
    requestBody: body(type),
  })
  const { send, schema } = await toolsOf(
    document({
      '/get': {
        get: {
          operationId: 'get',
          summary: 'Gets',
          parameters: [
            text('token', 'query', true),
            text('X-Auth-Token', 'header', true),
            text('api_key', 'cookie'),
            text('q', 'query'),
          ],
        },
      },
      '/json': { post: post('json', 'application/json') },
      '/form': { post: post('form', 'application/x-www-form-urlencoded') },
    }),
    {},
    ENV,
  )
  assert.deepEqual(Object.keys(schema('get').properties), ['q'])
  assert.deepEqual(await send({ q: 'a' }, 'get'), {
    sent: 'GET https://api.example.com/v1/get?token=s%26t&q=a',
    headers: { 'X-Auth-Token': 'x', Cookie: 'api_key=k' },
    body: undefined,
  })
  for (const [tool, sent] of [
    ['json', '{"apiKey":"k","name":"n","token":"s&t"}'],
    ['form', 'name=n&token=s%26t&apiKey=k'],
  ] as const) {
    assert.deepEqual(Object.keys(schema(tool).properties), ['name'])
    assert.deepEqual(schema(tool).required, ['name'])
    assert.equal((await send({ name: 'n' }, tool)).body, sent)
    assert.match((await send({ name: 'n', token: 'mine' }, tool)).error!, /`token` is not an argument/)
  }
})

test('a credential that is not set is not sent', async () => {
  const parameters = [
    text('token', 'query', true),
    text('X-Auth-Token', 'header', true),
    text('api_key', 'cookie'),
  ]
  const { send, text: yaml } = await toolsOf(operation({ parameters }))
  assert.deepEqual(await send(), {
    sent: 'GET https://api.example.com/v1/things',
    headers: {},
    body: undefined,
  })
  const told = (env: Record<string, string>) =>
    lintTemplates(readConfiguration({ file: '-', text: yaml }, env), env).map(
      (one) => `${one.code} ${one.message}`,
    )
  assert.equal(told({}).filter((one) => one.startsWith('env-empty')).length, 3)
  assert.match(
    told({}).join(),
    /env-empty the environment variable SHOP_TOKEN is not set, and its default is/,
  )
  assert.deepEqual(told(ENV), [])
})

test('names that only look like credentials stay arguments', async () => {
  const parameters = [
    text('page_token', 'query'),
    text('next_token', 'query'),
    text('idempotency_key', 'query'),
    text('key', 'query'),
    text('propertyKey', 'query'),
    text('Idempotency-Key', 'header'),
    text('X-Next-Page-Token', 'header'),
    text('author', 'query'),
    { name: 'client_secret', in: 'query', schema: { type: 'integer' } },
    text('issueIdOrKey', 'path', true),
    text('access_token', 'path', true),
  ]
  const { schema } = await toolsOf(operation({ parameters }, { path: '/x/{issueIdOrKey}/{access_token}' }))
  assert.deepEqual(Object.keys(schema().properties).sort(), parameters.map(({ name }) => name).sort())
})

test('a parameter of a security scheme is sent once, with the variable of the scheme', async () => {
  const security = [{ appKey: [], userToken: [] }]
  const securitySchemes = {
    appKey: { type: 'apiKey', in: 'query', name: 'key' },
    userToken: { type: 'apiKey', in: 'query', name: 'token' },
  }
  const parameters = [text('key', 'query', true), text('token', 'query', true), text('q', 'query')]
  const doc = (more: object) => operation({ parameters, ...more }, { components: { securitySchemes } })
  const env = { SHOP_APP_KEY: 'a', SHOP_USER_TOKEN: 'b' }
  for (const more of [{ security }, {}]) {
    const { send, schema } = await toolsOf(doc(more), {}, env)
    assert.deepEqual(Object.keys(schema().properties), ['q'])
    assert.equal((await send({ q: 'x' })).sent, 'GET https://api.example.com/v1/things?key=a&token=b&q=x')
  }
})

test('a token beside a bearer login is the same one', async () => {
  const securitySchemes = { login: { type: 'oauth2', flows: {} } }
  const json = (required: string[]) => ({
    requestBody: {
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required,
            properties: { token: { type: 'string' }, a: { type: 'string' } },
          },
        },
      },
    },
  })
  const made = (parts: object, method = 'get') =>
    toolsOf(
      operation({ security: [{ login: [] }], ...parts }, { method, components: { securitySchemes } }),
      {},
      { SHOP_LOGIN: 'secret' },
    )
  const query = await made({ parameters: [text('token', 'header', true), text('access_token', 'query')] })
  assert.deepEqual(await query.send(), {
    sent: 'GET https://api.example.com/v1/things',
    headers: { Authorization: 'Bearer secret' },
    body: undefined,
  })
  assert.equal((await (await made(json([]), 'post')).send({ a: 'x' })).body, '{"a":"x"}')
  // A body that has to have it gets it all the same.
  assert.equal(
    (await (await made(json(['token']), 'post')).send({ a: 'x' })).body,
    '{"a":"x","token":"secret"}',
  )
})

const PARTS = {
  parameters: [
    text('owner', 'path', true),
    text('expand', 'query'),
    { name: 'limit', in: 'query', schema: { type: 'integer' } },
    { name: 'ids[]', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
    text('X-Team', 'header'),
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['count'],
          properties: { count: { type: 'integer' }, title: { type: 'string' } },
        },
      },
    },
  },
}
const POST = operation(PARTS, { method: 'post', path: '/{owner}/x' })

test('--bind: a fixed value is sent in the place of the argument', async () => {
  const bind = {
    owner: 'a b/c',
    limit: '5',
    'ids[]': 'one',
    'X-Team': '${TEAM:none}',
    count: '7',
    title: '{{env "TITLE" ""}}',
  }
  const { send, schema } = await toolsOf(POST, { bind }, { TITLE: 't"' })
  assert.deepEqual(Object.keys(schema().properties), ['expand'])
  assert.deepEqual(await send({ expand: 'e' }), {
    sent: 'POST https://api.example.com/v1/a%20b%2Fc/x?expand=e&limit=5&ids%5B%5D=one',
    headers: { 'X-Team': 'none', 'Content-Type': 'application/json' },
    body: '{"count":7,"title":"t\\""}',
  })
})

test('no variable of a credential is one of the address', async () => {
  const apiKey = (name: string) => ({ type: 'apiKey', in: 'header', name })
  const securitySchemes = {
    token: { type: 'http', scheme: 'bearer' },
    server_token: apiKey('X-Server'),
    url: apiKey('X-Url'),
    server: { type: 'http', scheme: 'basic' },
  }
  const secrets = { SHOP_TOKEN: 's1', SHOP_LOGIN_SERVER_TOKEN: 's2', SHOP_LOGIN_URL: 's3' }
  const basic = { SHOP_LOGIN_SERVER_USER: 's4', SHOP_LOGIN_SERVER_PASSWORD: 's5' }
  const variables = { token: { default: 'eu' }, user: { default: 'v1' } }
  const servers = [{ url: 'https://{token}.example.com/{user}', variables }]
  const sent = async (names: string[], at: object[]) => {
    const security = [Object.fromEntries(names.map((name) => [name, []]))]
    const given = operation({ security }, { servers: at, components: { securitySchemes } })
    return (await toolsOf(given, {}, { ...secrets, ...basic })).send()
  }
  assert.deepEqual(await sent(['token', 'server_token', 'url'], servers), {
    sent: 'GET https://eu.example.com/v1/things',
    headers: { Authorization: 'Bearer s1', 'X-Server': 's2', 'X-Url': 's3' },
    body: undefined,
  })
  assert.deepEqual(await sent(['server', 'url'], [{ url: '/v3' }]), {
    sent: 'GET http://localhost/v3/things',
    headers: { Authorization: `Basic ${Buffer.from('s4:s5').toString('base64')}`, 'X-Url': 's3' },
    body: undefined,
  })
})

test('--bind goes before a security scheme', async () => {
  const securitySchemes = { key: { type: 'apiKey', in: 'query', name: 'key' } }
  const doc = operation(
    { security: [{ key: [] }], parameters: [text('key', 'query')] },
    { components: { securitySchemes } },
  )
  const { send } = await toolsOf(doc, { bind: { key: 'mine' } }, { SHOP_KEY: 'theirs' })
  assert.equal((await send()).sent, 'GET https://api.example.com/v1/things?key=mine')
})

test('--drop leaves out an optional argument, and refuses a required one', async () => {
  const { schema } = await toolsOf(POST, { drop: ['expand', 'title', 'ids[]', 'X-Team'] })
  assert.deepEqual(Object.keys(schema().properties), ['owner', 'limit', 'count'])
  assert.throws(() => imported(POST, { drop: ['count'] }), {
    message: '--drop count: POST /{owner}/x requires it; give it a value with --bind count=value',
  })
})

test('a name that no operation has, and a value of another type', () => {
  assert.throws(() => imported(POST, { bind: { ownr: 'x' } }), {
    message: '--bind ownr: no operation has an argument of this name. Did you mean owner?',
  })
  assert.throws(() => imported(POST, { drop: ['lmit'] }), /--drop lmit: .* Did you mean limit\?/)
  assert.throws(() => imported(POST, { bind: { limit: 'many' } }), {
    message: '--bind limit: POST /{owner}/x takes integer there, not "many"',
  })
})

test('a client credentials flow becomes `credentials` of the server, with the scopes that operations need', () => {
  const flows = {
    clientCredentials: { tokenUrl: 'https://auth.example.com/token', scopes: { read: 'Reads' } },
  }
  const securitySchemes = { login: { type: 'oauth2', flows } }
  const parameters = [{ name: 'authorization', in: 'header', required: true, schema: { type: 'string' } }]
  const made = imported(
    operation({ security: [{ login: ['read'] }], parameters }, { components: { securitySchemes } }),
  )
  const [{ text, variables }] = made.configurations as [(typeof made.configurations)[0]]
  const env = { SHOP_LOGIN_CLIENT_ID: 'id', SHOP_LOGIN_CLIENT_SECRET: 'secret' }
  const { configuration, findings } = readConfiguration({ file: '-', text }, env)
  assert.deepEqual(findings, [])
  const { type, tokenUrl, clientId, clientSecret, scopes } = configuration!.servers[0]!.credentials!
  assert.deepEqual(
    [type, tokenUrl, clientId, clientSecret, scopes],
    ['clientCredentials', 'https://auth.example.com/token', 'id', 'secret', ['read']],
  )
  assert.deepEqual(
    variables.map(({ name }) => name),
    Object.keys(env),
  )
  // The token is sent once.
  assert.doesNotMatch(text, /Authorization/i)
})

test('an authorization code flow becomes a login of the operator, in OpenAPI and in Swagger 2.0', () => {
  const urls = {
    authorizationUrl: 'https://auth.example.com/authorize',
    tokenUrl: 'https://auth.example.com/token',
  }
  const security = [{ login: ['read'] }]
  const flows = { authorizationCode: { ...urls, scopes: { read: 'Reads' } } }
  const made = imported(
    operation({ security }, { components: { securitySchemes: { login: { type: 'oauth2', flows } } } }),
  )
  const [{ text, variables }] = made.configurations as [(typeof made.configurations)[0]]
  const env = { SHOP_LOGIN_CLIENT_ID: 'id', SHOP_LOGIN_CLIENT_SECRET: 'secret' }
  const { configuration, findings } = readConfiguration({ file: '-', text }, env)
  assert.deepEqual(findings, [])
  const { type, clientId, clientSecret, scopes, ...rest } = configuration!.servers[0]!.credentials!
  assert.deepEqual(
    [type, rest.for, clientId, clientSecret, scopes],
    ['oauth', 'gateway', 'id', 'secret', ['read']],
  )
  assert.deepEqual([rest.authorizationUrl, rest.tokenUrl], Object.values(urls))
  assert.deepEqual(
    variables.map(({ name }) => name),
    Object.keys(env),
  )
  assert.match(made.notes.join(), /^login: one person logs in for all callers: .* run `plantgw login`/)
  const old = {
    swagger: '2.0',
    info: { title: 'Shop', version: '1' },
    host: 'shop.example.com',
    schemes: ['https'],
    paths: { '/x': { get: { security, responses: {} } } },
    securityDefinitions: {
      login: { type: 'oauth2', flow: 'accessCode', ...urls, scopes: { read: 'Reads' } },
    },
  }
  assert.match(
    imported(old).configurations[0]!.text,
    /type: oauth\n +for: gateway\n +authorizationUrl: https:/,
  )
})

test('a login by OAuth or OpenID Connect that is not imported is said', () => {
  const notes = (securitySchemes: object, security: object[]) =>
    imported(operation({ security }, { components: { securitySchemes } })).notes
  const code = { type: 'oauth2', flows: { authorizationCode: { tokenUrl: 'https://a.example.com/token' } } }
  const oidc = { type: 'openIdConnect', openIdConnectUrl: 'https://a.example.com/.well-known' }
  assert.match(
    notes({ login: code }, [{ login: [] }]).join(),
    /^login: the login by OAuth is not imported\. Calls send the token in SHOP_LOGIN, which the gateway does not/,
  )
  assert.match(
    notes({ sso: oidc }, [{ sso: [] }]).join(),
    /^sso: the login by OpenID Connect is not imported/,
  )
  // Calls send the first alternative.
  assert.match(notes({ login: code, sso: oidc }, [{ login: [] }, { sso: [] }]).join(), /^login: [^:]*$/)
  assert.deepEqual(notes({ login: code, key: { type: 'http', scheme: 'bearer' } }, [{ key: [] }]), [])
  const client = { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://a.example.com/token' } } }
  assert.deepEqual(notes({ login: client }, [{ login: [] }]), [])
})
