import { APP, alone, bearer, type Chapter, challengeAt, type Refusal, type Sent, within } from './refusal.ts'

const call = (path: string, name: string, headers: Sent['headers'] = {}, args: object = {}) =>
  alone(path, 'tools/call', { name, arguments: args }, headers)
const READ = bearer('good')
const rules = (when: string, send: Sent, why: string): Refusal => ({
  when,
  send,
  answer: { status: 200, error: -32602 },
  why,
})
const inBatch = (name: string): Sent => ({
  path: '/rules/mcp',
  headers: { ...READ, 'mcp-session-id': '<session batches>', 'mcp-protocol-version': '2025-03-26' },
  body: [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }],
})
const NO_RULE = 'No rule allows it. The error is the same as for a name that does not exist.'

export const AUTHORIZATION: Chapter = {
  title: 'Rules',
  about:
    'At `/rules` and `/proxied` with `authorize`: `get_*` for the scope `plants:read`, `delete_item` for `plants:write`, `own_item` for the caller `ops`, the prompt `public`, the resources `file:///public/*`. The token has `plants:read` only.',
  rows: [
    rules('a tool that no rule allows', call('/rules', 'hidden', READ), NO_RULE),
    rules(
      'a tool that does not exist',
      call('/rules', 'nothing', READ),
      'On a router with rules no similar name is suggested.',
    ),
    rules(
      'a tool for another caller',
      call('/rules', 'own_item', READ),
      '`callers` of the rule does not name the caller, so that no scope would help.',
    ),
    rules('a tool in another case', call('/rules', 'GET_item', READ), 'Names are compared exactly.'),
    rules(
      'a tool with an invisible character',
      call('/rules', 'get_item\u200b', { ...READ, 'mcp-name': '=?base64?Z2V0X2l0ZW3igIs=?=' }),
      'Names are compared exactly.',
    ),
    rules('a prompt that no rule allows', alone('/rules', 'prompts/get', { name: 'secret' }, READ), NO_RULE),
    rules(
      'completion of such a prompt',
      alone(
        '/rules',
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'secret' }, argument: { name: 'a', value: '' } },
        READ,
      ),
      NO_RULE,
    ),
    rules(
      'a resource that no rule allows',
      alone('/proxied', 'resources/read', { uri: 'file:///secret/a' }, READ),
      NO_RULE,
    ),
    rules(
      'a resource beside an allowed one',
      alone('/proxied', 'resources/read', { uri: 'file:///public/../secret/a' }, READ),
      'A URI with `..` is never allowed by a pattern.',
    ),
    rules(
      'the same, encoded',
      alone('/proxied', 'resources/read', { uri: 'file:///public/%2e%2e/secret/a' }, READ),
      'A URI with `..` is never allowed by a pattern, however it is written.',
    ),
    rules(
      'a resource below the pattern',
      alone('/proxied', 'resources/read', { uri: 'file:///public/a/b' }, READ),
      '`*` does not stand for `/`: write `**`.',
    ),
    rules(
      'a subscription to such a resource',
      alone(
        '/proxied',
        'subscriptions/listen',
        { notifications: { resourceSubscriptions: ['file:///secret/a'] } },
        READ,
      ),
      'Nothing is subscribed to.',
    ),
    {
      when: 'a resource in a session',
      send: within('proxied', '/proxied', 'resources/read', { uri: 'file:///secret/a' }, READ),
      answer: { status: 200, error: -32002 },
      why: NO_RULE,
    },
    {
      when: 'a subscription in a session',
      send: within('proxied', '/proxied', 'resources/subscribe', { uri: 'file:///secret/a' }, READ),
      answer: { status: 200, error: -32002 },
      why: NO_RULE,
    },
    {
      when: '`tasks/list`',
      send: within('proxied', '/proxied', 'tasks/list', {}, READ),
      answer: { status: 200, error: -32601 },
      why: 'It would show tasks of other callers.',
    },
    {
      when: 'a method that MCP does not have',
      send: within('proxied', '/proxied', 'admin/reset', {}, READ),
      answer: { status: 200, error: -32601 },
      why: 'Its effect is unknown.',
    },
    {
      when: 'a known method in another case',
      send: within('proxied', '/proxied', 'Tools/Call', { name: 'hidden' }, READ),
      answer: { status: 200, error: -32601 },
      why: 'A lenient server would carry it out.',
    },
    {
      when: 'a tool for a scope that is missing',
      send: call('/rules', 'delete_item', READ),
      answer: {
        status: 403,
        error: -32600,
        challenge: challengeAt('/rules/mcp', 'plants:read plants:write', 'insufficient_scope'),
      },
      why: 'Ask for a token with all scopes of the challenge (step-up).',
    },
    {
      when: 'the same in a session',
      send: within('rules', '/rules', 'tools/call', { name: 'delete_item', arguments: {} }, READ),
      answer: {
        status: 403,
        error: -32600,
        challenge: challengeAt('/rules/mcp', 'plants:read plants:write', 'insufficient_scope'),
      },
      why: 'Ask for a token with all scopes of the challenge (step-up).',
    },
    {
      when: 'the same from a web page',
      send: call('/rules', 'delete_item', { ...READ, origin: APP }),
      answer: {
        status: 403,
        error: -32600,
        challenge: challengeAt('/rules/mcp', 'plants:read plants:write', 'insufficient_scope'),
        headers: { 'access-control-allow-origin': APP },
      },
      why: 'The page can read the challenge.',
    },
    {
      when: 'such a tool in a batch',
      send: inBatch('hidden'),
      answer: { status: 200, error: -32602 },
      why: 'Each message of a batch is judged on its own.',
    },
    {
      when: 'a tool for a scope that is missing, in a batch',
      send: inBatch('delete_item'),
      answer: { status: 200, error: -32600 },
      why: 'A batch has one status, so the scopes are in the message of the error.',
    },
    {
      ...rules(
        'a tool that has changed since it was pinned',
        call('/pinned', 'get_item'),
        '`pin: block` hides what differs from `plantgw.lock`: review the server, then run `plantgw pin`.',
      ),
      before: [alone('/pinned', 'tools/list')],
    },
    rules(
      'a tool that was never pinned',
      call('/pinned', 'new_tool'),
      '`pin: block` hides what is not in `plantgw.lock`: review the server, then run `plantgw pin`.',
    ),
    rules(
      'a tool that `allowedTools` leaves out',
      call('/limited', 'delete_item'),
      '`allowedTools` of the server names the others only.',
    ),
  ],
}

const AT: readonly [name: string, host: string, what: string][] = [
  ['loopback', '127.0.0.1', 'a loopback address'],
  ['loopback as one number', '2130706433', 'a loopback address'],
  ['loopback in hexadecimal', '0x7f.1', 'a loopback address'],
  ['loopback in octal', '0177.0.0.1', 'a loopback address'],
  ['loopback with two parts', '127.1', 'a loopback address'],
  ['loopback by its name', 'localhost', 'a loopback address'],
  ['loopback of IPv6', '[::1]', 'a loopback address'],
  ['loopback of IPv4 in IPv6', '[::ffff:127.0.0.1]', 'a loopback address'],
  ['loopback of IPv4 in IPv6, hexadecimal', '[::ffff:7f00:1]', 'a loopback address'],
  ['loopback by NAT64', '[64:ff9b::7f00:1]', 'a loopback address'],
  ['loopback by 6to4', '[2002:7f00:1::]', 'a loopback address'],
  ['this host', '0.0.0.0', 'this host'],
  ['metadata of a cloud', '169.254.169.254', 'a metadata service'],
  ['metadata as one number', '2852039166', 'a metadata service'],
  ['metadata over IPv6', '[fd00:ec2::254]', 'a metadata service'],
  ['link-local', '169.254.1.1', 'a link-local address'],
  ['link-local of IPv6', '[fe80::1]', 'a link-local address'],
  ['private, class A', '10.0.0.1', 'a private network'],
  ['private, class B', '172.16.0.1', 'a private network'],
  ['private, class C', '192.168.1.1', 'a private network'],
  ['private, of a carrier', '100.64.0.1', 'a private network'],
  ['private of IPv6', '[fd12:3456::1]', 'a private network'],
  ['multicast', '224.0.0.1', 'multicast'],
  ['multicast of IPv6', '[ff02::1]', 'multicast'],
  ['documentation', '192.0.2.1', 'a reserved network'],
  ['class E', '240.0.0.1', 'a reserved network'],
]

export const OUTBOUND: Chapter = {
  title: 'Outbound connections',
  about:
    'At `/web`, whose tool `fetch` follows redirects. A host that a redirect decides may be at a public address only ([outbound](outbound.md)); the call is an error of the tool. An argument never decides a host: such a template is the finding [`template-host`](findings.md#template-host).',
  rows: [
    ...AT.map(
      ([when, host, what]): Refusal => ({
        when: `a redirect to ${when}`,
        send: call('/web', 'fetch', {}, { to: `http://${host}/` }),
        answer: { status: 200, error: 'tool' },
        passes: true,
        why: `It is ${what}. \`outbound.allowHosts\` or \`allowCidrs\` allows it.`,
      }),
    ),
    {
      when: 'a redirect to a host behind a user',
      send: call('/web', 'fetch', {}, { to: 'http://example.com@127.0.0.1/' }),
      answer: { status: 200, error: 'tool' },
      passes: true,
      why: 'What stands before `@` is no host.',
    },
    {
      when: 'a redirect to a file',
      send: call('/web', 'fetch', {}, { to: 'file:///etc/passwd' }),
      answer: { status: 200, error: 'tool' },
      passes: true,
      why: 'Only `http` and `https` are followed.',
    },
    {
      when: 'a host of a tenant',
      send: call('/green/tools', 'get_item', bearer('green')),
      answer: { status: 200, error: 'tool' },
      why: 'Tenants reach public addresses only, unless `tenants[].outbound` allows more.',
    },
    {
      when: 'a server that fails',
      before: [call('/failing', 'get_item')],
      send: call('/failing', 'get_item'),
      answer: { status: 200, error: 'tool' },
      why: 'The breaker is open: the server is not called until its pause is over.',
    },
  ],
}

const SMALL_CALL = (headers: Sent['headers'] = {}) =>
  alone('/open', 'tools/call', { name: 'get_item', arguments: { id: 1 } }, headers)

export const LIMITS: Chapter = {
  title: 'Limits',
  about: 'Rates and counts ([limits](limits.md)): come back after `Retry-After`.',
  rows: [
    {
      when: 'beyond a rate',
      before: [call('/rated', 'get_item', {}, { id: 1 })],
      send: call('/rated', 'get_item', {}, { id: 1 }),
      answer: { status: 429, error: -32000, headers: { 'retry-after': '3600' } },
      why: 'One call an hour here: `rate` of the router.',
    },
    {
      when: 'beyond a rate, GET',
      send: { method: 'GET', path: '/rated/mcp' },
      answer: { status: 429, error: -32600, headers: { 'retry-after': '3600' } },
      why: 'Every other HTTP request counts as one.',
    },
    {
      when: 'beyond a rate, a body that is no message',
      send: { path: '/rated/mcp', body: '{' },
      answer: { status: 429, error: -32000, headers: { 'retry-after': '3600' } },
      why: 'It counts as one request.',
    },
    {
      when: 'beyond a rate for a tool',
      before: [call('/rated-tool', 'delete_item')],
      send: call('/rated-tool', 'delete_item'),
      answer: { status: 429, error: -32000, headers: { 'retry-after': '60' } },
      why: 'Other tools may still be called.',
    },
    {
      when: 'too many wrong credentials',
      gateway: 'small',
      before: Array(3).fill({ path: '/bearer/mcp', headers: { authorization: 'Bearer wrong' }, body: {} }),
      send: { path: '/bearer/mcp', headers: { authorization: 'Bearer wrong' }, body: {} },
      answer: { status: 429, error: -32600, headers: { 'retry-after': '20' } },
      why: '`limits.maxFailedLogins`: 3 a minute here.',
    },
    {
      when: 'the right token after too many wrong ones',
      gateway: 'small',
      send: { path: '/bearer/mcp', headers: bearer('agent'), body: {} },
      answer: { status: 429, error: -32600, headers: { 'retry-after': '20' } },
      why: 'Whether a token is right is not said to who guesses; who has logged in from there before is served.',
    },
    {
      when: 'too many sessions',
      gateway: 'small',
      before: [
        { path: '/open/mcp', body: INITIALIZE() },
        { path: '/open/mcp', body: INITIALIZE() },
      ],
      send: { path: '/open/mcp', body: INITIALIZE() },
      answer: { status: 503, error: -32603, headers: { 'retry-after': '5' } },
      why: 'A tenth of `limits.maxSessions`: 2 here. Sessions in use are not ended.',
    },
    {
      when: 'more calls at once than one caller may have',
      gateway: 'small',
      send: {
        path: '/open/mcp',
        headers: { 'mcp-session-id': '<session small>', 'mcp-protocol-version': '2025-03-26' },
        body: Array.from({ length: 4 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
      },
      answer: { status: 503, error: -32603, headers: { 'retry-after': '5' } },
      why: 'A quarter of `limits.maxCallsPerPrefix`: 3 here.',
    },
    {
      when: 'a response above `limits.maxResponseSize`',
      gateway: 'small',
      send: SMALL_CALL(),
      answer: { status: 200, error: 'tool' },
      passes: true,
      why: 'The rest of the response is not read.',
    },
  ],
}

function INITIALIZE() {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }
}

const page = (
  when: string,
  send: Sent,
  status: number,
  why: string,
  more: Partial<Refusal['answer']> = {},
): Refusal => ({ when, send, answer: { status, error: 'page', ...more }, why })
const signed = (name: string, value: string): Refusal => ({
  when: `\`${name}\`, without an admin token`,
  gateway: 'open',
  send: { method: 'GET', path: '/_status', headers: { [name]: value } },
  answer: { status: 401, error: 'page', challenge: 'Bearer' },
  why: 'The request came through a proxy, so all its clients would be admins.',
})

export const PAGES: Chapter = {
  title: 'The gateway’s own pages',
  about:
    '`/_status`, `/_reload`, `/_diff` and `/metrics` ([who may use them](reload.md#who-may-use-the-gateways-own-pages)): with `admin.token`, with `admin.listen`, and with neither.',
  rows: [
    ...['/_status', '/_diff', '/metrics'].map((path) =>
      page(
        `${path} without the admin token`,
        { method: 'GET', path },
        401,
        'With `admin.token` it is needed from everywhere.',
        { challenge: 'Bearer' },
      ),
    ),
    page(
      '/_reload without the admin token',
      { path: '/_reload', headers: { 'content-type': null } },
      401,
      'With `admin.token` it is needed from everywhere.',
      { challenge: 'Bearer' },
    ),
    page(
      'a wrong admin token',
      { method: 'GET', path: '/_status', headers: { authorization: 'Bearer wrong' } },
      401,
      'Send the one of the settings.',
      { challenge: 'Bearer error="invalid_token"' },
    ),
    page(
      '/_reload with the token of a tenant',
      { path: '/_reload', headers: bearer('green') },
      403,
      'A reload concerns all tenants; `/_status` shows the part of the tenant.',
    ),
    page(
      '/_status with a token of a tenant that has expired',
      {
        method: 'GET',
        path: '/_status',
        headers: { authorization: 'Bearer the-old-token-of-green-0123456789' },
      },
      401,
      'Its `expires` is over.',
      { challenge: 'Bearer error="invalid_token"' },
    ),
    page(
      '/_reload by GET',
      { method: 'GET', path: '/_reload', headers: bearer('admin') },
      405,
      'See `Allow`.',
      { headers: { allow: 'POST' } },
    ),
    page('/_status by POST', { path: '/_status', headers: bearer('admin') }, 405, 'See `Allow`.', {
      headers: { allow: 'GET, HEAD' },
    }),
    page('/_health by POST', { path: '/_health' }, 405, 'See `Allow`.', { headers: { allow: 'GET, HEAD' } }),
    page(
      'a reload of a name that nothing has',
      { path: '/_reload', headers: bearer('admin'), body: { name: 'nothing' } },
      404,
      'The message names the most similar configuration.',
    ),
    page(
      'a reload with a configuration',
      { path: '/_reload', headers: bearer('admin'), body: { name: 'open', routers: [] } },
      400,
      'A reload reads the store of the gateway; it takes no configuration.',
    ),
    page(
      'a reload with a body that is no JSON',
      { path: '/_reload', headers: bearer('admin'), body: '{' },
      400,
      'Send nothing, or a name.',
    ),
    page(
      'a reload with 5,000 bytes',
      { path: '/_reload', headers: bearer('admin'), body: 'x'.repeat(5_000) },
      413,
      'Send nothing, or a name.',
    ),
    page(
      'a web page of another origin',
      { method: 'GET', path: '/_status', headers: { ...bearer('admin'), origin: 'https://evil.example' } },
      403,
      '`allowedOrigins` of the settings allows it.',
    ),
    {
      ...page(
        'a foreign `Host`',
        { method: 'GET', path: '/_status', headers: { host: 'evil.example' } },
        403,
        'DNS rebinding: a name of somebody else points to this machine.',
      ),
      gateway: 'open',
    },
    signed('X-Forwarded-For', '203.0.113.7'),
    signed('Forwarded', 'for=203.0.113.7'),
    signed('Via', '1.1 proxy'),
    signed('X-Real-IP', '203.0.113.7'),
    signed('X_Forwarded_For', '203.0.113.7'),
    signed('CF-Connecting-IP', '203.0.113.7'),
    signed('X-Forwarded-Proto', 'https'),
    {
      ...page(
        'another page of a browser',
        { method: 'GET', path: '/_status', headers: { 'sec-fetch-site': 'cross-site' } },
        401,
        'A page elsewhere must not read it.',
        { challenge: 'Bearer' },
      ),
      gateway: 'open',
    },
    {
      ...page(
        '201 headers',
        {
          method: 'GET',
          path: '/_status',
          headers: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`x-${i}`, '1'])),
        },
        431,
        'A sign of a proxy could be behind them.',
      ),
      gateway: 'open',
    },
    {
      ...page(
        '/_status with `admin.listen`',
        { method: 'GET', path: '/_status' },
        404,
        'The pages are at `admin.listen`.',
      ),
      gateway: 'small',
    },
    {
      ...page('/_reload with `admin.listen`', { path: '/_reload' }, 404, 'The pages are at `admin.listen`.'),
      gateway: 'small',
    },
    {
      ...page(
        '/metrics with `admin.listen`',
        { method: 'GET', path: '/metrics' },
        404,
        'The pages are at `admin.listen`.',
      ),
      gateway: 'small',
    },
  ],
}

const plants = (
  when: string,
  send: Sent,
  status: number,
  why: string,
  more: Partial<Refusal['answer']> = {},
) => page(when, { ...send, headers: { ...bearer('plants'), ...send.headers } }, status, why, more)

export const PLANTS: Chapter = {
  title: 'The plant store',
  about: 'Every error has the body `{"error": <status>, "message": …}`.',
  rows: [
    page('no token', { method: 'GET', path: '/plants' }, 401, 'Send `Authorization: Bearer <token>`.', {
      challenge: 'Bearer',
    }),
    page(
      'an unknown token',
      { method: 'GET', path: '/plants', headers: { authorization: 'Bearer wrong' } },
      401,
      'The token is not in `plants.tokens`.',
      { challenge: 'Bearer' },
    ),
    page('no token, DELETE', { method: 'DELETE', path: '/plants/1' }, 401, 'Every operation wants one.', {
      challenge: 'Bearer',
    }),
    plants('PUT', { method: 'PUT', path: '/plants' }, 405, 'See `Allow`.', {
      headers: { allow: 'GET, HEAD, POST' },
    }),
    plants('GET of one plant', { method: 'GET', path: '/plants/1' }, 405, 'See `Allow`.', {
      headers: { allow: 'DELETE' },
    }),
    plants(
      'a path where nothing is',
      { method: 'GET', path: '/plants/1/leaves' },
      404,
      'There are `/plants` and `/plants/{id}`.',
    ),
    plants('no JSON', { path: '/plants', body: '{' }, 400, 'The body is a NewPlant.'),
    plants('a list', { path: '/plants', body: '[]' }, 400, 'The body is an object.'),
    plants('no `name`', { path: '/plants', body: { id: 1 } }, 400, '`name` is required.'),
    plants('no `id`', { path: '/plants', body: { name: 'Fern' } }, 400, '`id` is required.'),
    plants('`name` is a number', { path: '/plants', body: { id: 1, name: 7 } }, 400, '`name` is a text.'),
    plants(
      '`tag` is a number',
      { path: '/plants', body: { id: 1, name: 'Fern', tag: 7 } },
      400,
      '`tag` is a text.',
    ),
    plants('`id` is a text', { path: '/plants', body: { id: '1', name: 'Fern' } }, 400, '`id` is an int64.'),
    plants(
      '`id` is a fraction',
      { path: '/plants', body: { id: 1.5, name: 'Fern' } },
      400,
      '`id` is an int64.',
    ),
    plants(
      '`id` beyond int64',
      { path: '/plants', body: '{"id":9223372036854775808,"name":"Fern"}' },
      400,
      '`id` is an int64.',
    ),
    {
      ...plants(
        'an `id` that is taken',
        { path: '/plants', body: { id: 9, name: 'Fern' } },
        400,
        'Ids are unique.',
      ),
      before: [{ path: '/plants', headers: bearer('plants'), body: { id: 9, name: 'Fern' } }],
    },
    plants(
      'text/plain',
      { path: '/plants', headers: { 'content-type': 'text/plain' }, body: { id: 1, name: 'Fern' } },
      415,
      'Send `Content-Type: application/json`.',
    ),
    plants(
      '2 MiB',
      { path: '/plants', headers: { 'content-length': String(2 ** 21) }, body: { id: 1, name: 'x' } },
      413,
      'At most 1 MiB.',
    ),
    plants(
      'DELETE of an unknown plant',
      { method: 'DELETE', path: '/plants/404' },
      404,
      'There is no such plant.',
    ),
    {
      ...plants(
        'DELETE of a plant of another caller',
        { method: 'DELETE', path: '/plants/8' },
        404,
        'Whether it exists is not said.',
      ),
      before: [{ path: '/plants', headers: bearer('other plants'), body: { id: 8, name: 'Moss' } }],
    },
    plants(
      'DELETE of an id that is none',
      { method: 'DELETE', path: '/plants/fern' },
      400,
      'An id is an int64.',
    ),
    page(
      'a web page of another origin',
      { method: 'GET', path: '/plants', headers: { ...bearer('plants'), origin: 'https://evil.example' } },
      403,
      '`allowedOrigins` of the settings allows it.',
    ),
  ],
}

export const TLS: Chapter = {
  title: 'TLS',
  about:
    'A listener with `tls.clientCa` ends other connections in the handshake; there is no answer of HTTP, which is status 0 here.',
  rows: [
    {
      when: 'no certificate of the client',
      gateway: 'tls',
      send: { method: 'GET', path: '/_health' },
      answer: { status: 0, error: 'none' },
      why: 'Show a certificate of one of the authorities of `tls.clientCa`.',
    },
  ],
}
