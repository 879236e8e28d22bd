import type { CodeInfo } from '../codes.ts'

/** Fields: their keys, types and values, and what one says about another. */
export const FIELDS = {
  'unknown-key': {
    severity: 'error',
    title: 'An unknown key',
    cause: 'The key has no meaning here, so the gateway would silently ignore it.',
    fix: 'Fix its spelling, or move it. Keys of your own begin with `x-`.',
    wrong: 'name: user\nrouter: []',
    right: 'name: user\nrouters: []',
  },
  'missing-key': {
    severity: 'error',
    title: 'A key is missing',
    cause: 'The object cannot be served without this key.',
    fix: 'Add the key.',
    wrong: 'name: user\ntools:\n  - name: list',
    right: 'name: user\ntools:\n  - name: list\n    endpoint: http://localhost:8080/list',
  },
  'wrong-type': {
    severity: 'error',
    title: 'A value of the wrong type',
    cause: 'The value of the key must have another type: string, number, boolean, array or object.',
    fix: 'Write a value of the type that the message names.',
    wrong: 'name: user\nrouters: /user',
    right: 'name: user\nrouters:\n  - {server: user, prefix: /user}',
  },
  'invalid-value': {
    severity: 'error',
    title: 'A value that is not allowed',
    cause:
      'The value has the right type, but is not one of those allowed, is out of range or has the wrong form.',
    fix: 'Write one of the values that the message names.',
    wrong: 'name: user\nmcpServers:\n  - {name: a, type: http, url: http://localhost/mcp}',
    right: 'name: user\nmcpServers:\n  - {name: a, type: streamable-http, url: http://localhost/mcp}',
  },
  'unknown-method': {
    severity: 'error',
    title: 'Not an HTTP method',
    cause: 'The method is not one of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS.',
    fix: 'Write one of them.',
  },
  'unsupported-auth': {
    severity: 'error',
    title: 'A way of authentication that is not supported',
    cause:
      'The router requires a kind of authentication that the gateway does not support; the gateway does not serve it without authentication.',
    fix: 'Use `mode: jwt` or `mode: introspection` with `issuers`, or `mode: bearer` with `tokens`.',
    wrong: 'auth:\n  mode: oauth2',
    right: 'auth:\n  mode: bearer\n  tokens:\n    - {token: "${AGENT_TOKEN}", caller: agent}',
  },
  'duplicate-token': {
    severity: 'error',
    title: 'A token is used twice',
    cause: 'The gateway cannot distinguish two callers with the same token.',
    fix: 'Give every caller its own token.',
  },
  'expired-token': {
    severity: 'warning',
    title: 'A token has expired',
    cause: 'The time of `expires` is past: the token gives no access any more.',
    fix: 'Remove the token, or give its caller a new one.',
    wrong:
      'auth:\n  mode: bearer\n  tokens:\n    - {token: "${AGENT_TOKEN}", caller: agent, expires: 2024-12-31}',
    right:
      'auth:\n  mode: bearer\n  tokens:\n    - {token: "${AGENT_TOKEN}", caller: agent, expires: 2999-12-31}',
  },
  'authorize-without-login': {
    severity: 'error',
    title: 'Rules about callers where everyone may call',
    cause:
      'The rule asks for scopes, claims or names of callers, but the router does not authenticate its callers: nobody has any of them, so the rule allows nobody. The same is true of rules that the settings give to a tenant, for which the `auth` of a router counts only if its author could not make up callers with it.',
    fix: 'Add `auth` to the router, or remove `scopes`, `claims` and `callers` from the rule. For rules of a tenant use `mode: jwt` without `jwksUrl`, or `tokens` of the tenant in the settings.',
    wrong:
      'routers:\n  - server: user\n    prefix: /user\n    authorize:\n      rules:\n        - {tools: ["*"], callers: [ci]}',
    right:
      'routers:\n  - server: user\n    prefix: /user\n    auth:\n      mode: bearer\n      tokens:\n        - {token: "${AGENT_TOKEN}", caller: ci}\n    authorize:\n      rules:\n        - {tools: ["*"], callers: [ci]}',
  },
  'exchange-without-login': {
    severity: 'error',
    title: 'A token exchange where callers have no token',
    cause:
      'With `type: tokenExchange` the token with which a caller has logged in is exchanged for one of the server. At this router callers do not log in with tokens of an authorization server, so that there is nothing to exchange.',
    fix: 'Give the router `auth` with `mode: jwt` or `mode: introspection`, or the server `credentials` with `type: clientCredentials` or `type: static`.',
    wrong:
      'routers:\n  - {server: shop, prefix: /shop}\nservers:\n  - name: shop\n    credentials: {type: tokenExchange, issuer: https://auth.example.com, clientId: plantgw, clientSecret: "${SECRET}"}',
    right:
      'routers:\n  - server: shop\n    prefix: /shop\n    auth: {mode: jwt, issuers: [{issuer: https://auth.example.com}]}\nservers:\n  - name: shop\n    credentials: {type: tokenExchange, issuer: https://auth.example.com, clientId: plantgw, clientSecret: "${SECRET}"}',
  },
  'rule-without-effect': {
    severity: 'warning',
    title: 'A rule that allows nobody anything',
    cause:
      'A part of the rule never applies: it names tools that do not exist, or demands what no token of the router has, or everyone may use all of it already.',
    fix: 'Fix the name, or remove the rule.',
    wrong:
      'auth:\n  mode: bearer\n  tokens:\n    - {token: "${AGENT_TOKEN}", caller: agent}\nauthorize:\n  rules:\n    - {prompts: ["*"], callers: [agnt]}',
    right:
      'auth:\n  mode: bearer\n  tokens:\n    - {token: "${AGENT_TOKEN}", caller: agent}\nauthorize:\n  rules:\n    - {prompts: ["*"], callers: [agent]}',
  },
  'insecure-url': {
    severity: 'error',
    title: 'A URL that must be https',
    cause:
      'Whoever is between the gateway and the other end could read the tokens that are sent there, or replace the keys that come from there.',
    fix: 'Write an https URL. Plain http is accepted for this machine only (`localhost`, `127.0.0.1`, `::1`).',
    wrong: 'auth:\n  mode: jwt\n  issuers:\n    - {issuer: http://auth.example.com}',
    right: 'auth:\n  mode: jwt\n  issuers:\n    - {issuer: https://auth.example.com}',
  },
  'invalid-schema': {
    severity: 'error',
    title: 'Not a JSON Schema',
    cause:
      'The gateway checks arguments and results against this schema, and clients read it: it must be valid JSON Schema 2020-12.',
    fix: 'Fix the marked part of the schema.',
    wrong: 'inputSchema:\n  type: object\n  properties:\n    id: {type: int}',
    right: 'inputSchema:\n  type: object\n  properties:\n    id: {type: integer}',
  },
  'unsupported-pattern': {
    severity: 'error',
    title: 'A pattern that cannot be checked in linear time',
    cause:
      'Patterns run on an engine that takes time linear in the text, so that no call can block the gateway. It has no back-references, look-around only as a look-ahead right after a leading `^` and a look-behind right before a final `$`, and no expression whose repetitions come to more than 10,000 instructions.',
    fix: 'Rewrite the pattern, or split it into several under `allOf` and `not`.',
    wrong:
      "inputSchema:\n  type: object\n  properties:\n    code: {type: string, pattern: '^([a-z])\\d+\\1$'}",
    right:
      "inputSchema:\n  type: object\n  properties:\n    code: {type: string, pattern: '^[a-z]\\d+[a-z]$'}",
  },
  'invalid-default': {
    severity: 'error',
    title: 'A default that does not fit its argument',
    cause: 'The default is parsed as the type of the argument, and used when a call leaves the argument out.',
    fix: 'Write a default of that type and, if there is an `enum`, one of its values; `""` means no default.',
    wrong: 'args:\n  - {name: limit, position: query, type: integer, default: many}',
    right: 'args:\n  - {name: limit, position: query, type: integer, default: "20"}',
  },
  'form-data-with-body': {
    severity: 'error',
    title: 'Both form-data arguments and a requestBody',
    cause: 'A request has one body: the parts of the form, or the template.',
    fix: 'Remove `requestBody`, or give the arguments another position.',
  },
  'cors-credentials': {
    severity: 'error',
    title: 'Any origin together with credentials',
    cause:
      'With `*` and `allowCredentials` every web site could act with its visitor’s login; browsers refuse the combination.',
    fix: 'List the origins, or set `allowCredentials: false`.',
    wrong: 'cors:\n  allowOrigins: ["*"]\n  allowCredentials: true',
    right: 'cors:\n  allowOrigins: [https://app.example.com]\n  allowCredentials: true',
  },
  'cors-origin': {
    severity: 'warning',
    title: 'An origin that no browser sends',
    cause:
      'An origin is scheme, host and port only, without a trailing slash, a path or a wildcard; this one never matches.',
    fix: 'Write it like `https://app.example.com` or `http://localhost:3000`; `*` alone allows any.',
    wrong: 'cors:\n  allowOrigins: [https://app.example.com/]',
    right: 'cors:\n  allowOrigins: [https://app.example.com]',
  },
  'cors-incomplete': {
    severity: 'warning',
    title: 'CORS that keeps MCP from working in a browser',
    cause:
      'MCP is POST with the headers `Content-Type`, `Mcp-Session-Id`, `mcp-protocol-version`, `Mcp-Method` and `Mcp-Name` (and `Authorization` where callers log in), and clients read `Mcp-Session-Id` of the response; a browser blocks headers that are not allowed.',
    fix: 'Add the missing values, or remove the key: its default contains the values that MCP needs.',
    wrong: 'cors:\n  allowOrigins: [https://app.example.com]\n  allowHeaders: [Content-Type]',
    right: 'cors:\n  allowOrigins: [https://app.example.com]',
  },
  'body-with-get': {
    severity: 'warning',
    title: 'A body with GET or HEAD',
    cause:
      'The body of such a request has no meaning in HTTP (RFC 9110, 9.3.1): servers and proxies ignore or refuse it. It is sent anyway, since some search APIs need it.',
    fix: 'Write the method that the API expects, usually `POST`, or send the arguments in the query.',
    wrong:
      'tools:\n  - name: find\n    endpoint: http://localhost/find\n    args:\n      - {name: q, position: body}',
    right:
      'tools:\n  - name: find\n    endpoint: http://localhost/find\n    args:\n      - {name: q, position: query}',
  },
  'mask-syntax': {
    severity: 'error',
    title: 'A mask that cannot be read',
    cause:
      '`select` or an item of `drop` is not a list of paths, or makes a member twice; or `next` or `items` of `pages` is not one path.',
    fix: 'Write paths with commas between them: `a.b`, `[]` for every item, `*` for every member, `{…}` for several members, `name: path` for another name. `**` can only stand in `drop`.',
    wrong: 'tools:\n  - {name: list, endpoint: http://localhost/list, response: {select: "items[.id"}}',
    right: 'tools:\n  - {name: list, endpoint: http://localhost/list, response: {select: "items[].id"}}',
  },
  'mask-without-match': {
    severity: 'warning',
    title: 'A mask that matches nothing',
    cause:
      'The `outputSchema` of the tool, or its examples, have no such member or array, so the path finds nothing in any response.',
    fix: 'Fix the path, or the schema.',
    wrong:
      'tools:\n  - name: find\n    endpoint: http://localhost/find\n    response: {select: titel}\n    outputSchema: {type: object, properties: {title: {type: string}}}',
    right:
      'tools:\n  - name: find\n    endpoint: http://localhost/find\n    response: {select: title}\n    outputSchema: {type: object, properties: {title: {type: string}}}',
  },
  'key-without-effect': {
    severity: 'warning',
    title: 'A key without effect',
    cause: 'The key is valid, but has no effect together with the keys beside it.',
    fix: 'Remove it, or change the keys beside it.',
    wrong: 'mcpServers:\n  - {type: stdio, name: a, command: npx, url: http://localhost/mcp}',
    right: 'mcpServers:\n  - {type: stdio, name: a, command: npx}',
  },
} as const satisfies Record<string, CodeInfo>

/** Proxied MCP servers. */
export const UPSTREAM = {
  'upstream-not-pinned': {
    severity: 'warning',
    title: 'An MCP server that is not pinned',
    cause:
      'A server has `pin`, and the `plantgw.lock` beside the file does not say what its tools, prompts and instructions are to be. With `pin: block` this is an error, as nothing of the server could be shown.',
    fix: 'Look at what the server declares, write the lock file with `plantgw pin`, and commit it.',
  },
  'upstream-shared': {
    severity: 'error',
    title: 'A shared MCP server that differs by caller',
    cause:
      'With `isolation: shared` one process or connection serves everybody, so `env`, `url` and `headers` cannot depend on a request.',
    fix: 'Write `isolation: credential` or `session`, or keep the request out of the templates.',
    wrong:
      'mcpServers:\n  - {name: a, type: stdio, command: npx, isolation: shared, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
    right:
      'mcpServers:\n  - {name: a, type: stdio, command: npx, isolation: credential, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
  },
  'upstream-start': {
    severity: 'warning',
    title: 'An MCP server that cannot be started before a request',
    cause:
      '`preinstalled` and `policy: onStart` start a server when its configuration is loaded. If `env`, `url` or `headers` depend on a request, the server cannot be started before there is one, so both have no effect.',
    fix: 'Remove them, or keep the request out of the templates.',
    wrong:
      'mcpServers:\n  - {name: a, type: stdio, command: npx, policy: onStart, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
    right: 'mcpServers:\n  - {name: a, type: stdio, command: npx, env: {KEY: "{{.Request.Headers.X-Key}}"}}',
  },
  'command-line': {
    severity: 'warning',
    title: 'A command together with its arguments',
    cause: 'A child is started without a shell, so `command` must be only the name or path of a program.',
    fix: 'Write the program in `command`, and each argument as an entry of `args`.',
    wrong: 'mcpServers:\n  - {name: a, type: stdio, command: npx -y some-server}',
    right: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: [-y, some-server]}',
  },
  'literal-template': {
    severity: 'warning',
    title: 'A template where none is rendered',
    cause:
      'In an MCP server only `env`, `url` and `headers` are templates. `command` and `args` are used unchanged, so that no caller can change which program starts.',
    fix: 'Pass the value in `env`, or write `${NAME}` for an environment variable of the gateway.',
    wrong: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: ["--key={{.Request.Headers.Key}}"]}',
    right: 'mcpServers:\n  - {name: a, type: stdio, command: npx, env: {KEY: "{{.Request.Headers.Key}}"}}',
  },
  'unexpanded-shell': {
    severity: 'warning',
    title: 'A path that only a shell would understand',
    cause: 'A child is started without a shell, so `~` and `$NAME` are not replaced.',
    fix: 'Write the whole path, or `${NAME}`, which the gateway replaces itself.',
    wrong: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: [some-server, ~/notes]}',
    right: 'mcpServers:\n  - {name: a, type: stdio, command: npx, args: [some-server, "${HOME}/notes"]}',
  },
  'ambiguous-name': {
    severity: 'warning',
    title: 'Servers of one prefix with ambiguous tool names',
    cause:
      'If a router names several servers, a tool has the name `server__tool`. When one server is `a` and another `a__b`, `a__b__c` can be a tool of either.',
    fix: 'Rename one of the two servers.',
    wrong: 'routers:\n  - {server: [a, a__b], prefix: /all}',
    right: 'routers:\n  - {server: [a, b], prefix: /all}',
  },
} as const satisfies Record<string, CodeInfo>
