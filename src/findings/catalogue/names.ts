import type { CodeInfo } from '../codes.ts'

/** Names and what refers to them. */
export const NAMES = {
  'duplicate-configuration': {
    severity: 'error',
    title: 'Two configurations have one name',
    cause:
      'The name of a configuration is unique among all that are served together. Tenants that the settings list have names of their own: give `validate` the settings.',
    fix: 'Rename one of the two.',
  },
  'duplicate-name': {
    severity: 'error',
    title: 'Two things of one kind have one name',
    cause: 'A name identifies exactly one tool, server, prompt or argument of a configuration.',
    fix: 'Rename or remove one of the two.',
  },
  'name-form': {
    severity: 'warning',
    title: 'A name that clients may refuse',
    cause:
      'MCP requires tool names of 1 to 128 of the characters `A-Z a-z 0-9 _ - .`, and many model providers refuse a request with any other name, with all its tools. Clients turn the names of prompts into commands.',
    fix: 'Write the name with these characters; a name for people goes into `title`.',
    wrong: 'tools:\n  - {name: list users, endpoint: http://localhost/users}',
    right: 'tools:\n  - {name: list_users, title: List users, endpoint: http://localhost/users}',
  },
  'duplicate-prefix': {
    severity: 'error',
    title: 'Two routers have one prefix',
    cause:
      'A prefix belongs to one router among all configurations; prefixes that differ only by case, slashes or encoding count as one.',
    fix: 'Give one of the two another prefix.',
  },
  'reserved-prefix': {
    severity: 'error',
    title: 'A prefix that the gateway uses itself',
    cause: 'The router would hide a path of the gateway, or be hidden by it.',
    fix: 'Choose another prefix.',
    wrong: 'routers:\n  - {server: user, prefix: /_reload}',
    right: 'routers:\n  - {server: user, prefix: /reload}',
  },
  'missing-public-url': {
    severity: 'error',
    title: 'The settings do not say the public URL',
    cause:
      'Tokens of an authorization server are issued for the URL of the endpoint, which clients also find in its metadata, and a `card` says where the server is. The `Host` header is not trusted for it.',
    fix: 'Add `publicUrl` to the settings: the URL at which clients reach the gateway.',
  },
  'open-router': {
    severity: 'error',
    title: 'A router that everyone on other machines may call',
    cause:
      'The gateway listens beyond this machine, and the router has neither `auth` nor a tenant with `tokens`: whoever reaches the address could call its tools. The gateway does not serve it there.',
    fix: 'Add `auth` to the router, or have clients show a certificate (`tls.clientCa` of the settings). If everyone who reaches the address may call its tools, write `allowUnauthenticated: true` into the settings. If only this machine needs it, listen on `127.0.0.1`.',
  },
  'unknown-tenant': {
    severity: 'error',
    title: 'A tenant that the settings do not know',
    cause: 'Where the settings list `tenants`, a configuration belongs to one of them, or to `default`.',
    fix: 'Fix the name, or add the tenant to the settings.',
  },
  'tenant-prefix': {
    severity: 'error',
    title: 'A prefix outside the tenant’s own',
    cause:
      'Every prefix of a tenant is at or below the one that the settings give it, and no other configuration may have a prefix there.',
    fix: 'Put the prefix below that of the tenant, or choose one outside all tenants.',
    wrong:
      'tenant: green # of the settings: {name: green, prefix: /green}\nrouters:\n  - {server: user, prefix: /user}',
    right: 'tenant: green\nrouters:\n  - {server: user, prefix: /green/user}',
  },
  'tenant-variable': {
    severity: 'error',
    title: 'A tenant that an environment variable decides',
    cause:
      'Where the settings list `tenants`, the tenant decides what a configuration may read and do, so that it must be the same in every environment.',
    fix: 'Write the name of the tenant out.',
  },
  'tenant-process': {
    severity: 'error',
    title: 'A process that the tenant may not start',
    cause:
      'MCP servers over stdio run as the gateway’s user. Configurations of a tenant may start them only where the settings say `stdio: true`, with one of `commands`, and set only variables that `env` of the command names, since variables such as `PATH` decide what code a process runs.',
    fix: 'Use a server over HTTP, or allow the command and its variables in the settings.',
  },
  'tenant-notifier': {
    severity: 'error',
    title: 'A notifier that the tenant may not have',
    cause:
      'A `notifier` makes the gateway connect to a host, or send a signal to a process, that the configuration names. Configurations of a tenant may have one only where the settings say `notifier: true`.',
    fix: 'Remove the notifier: that of the settings is used.',
  },
  'tenant-file': {
    severity: 'error',
    title: 'A file that the tenant may not have read',
    cause:
      'The gateway reads files as its own user, so that a path in `tls` could use the key of another tenant, and `skills` show its files. Configurations of a tenant give certificates and keys as PEM text, from variables that the settings let them read.',
    fix: 'Put the PEM text into a variable that `env` of the tenant names; remove `skills`.',
  },
  'tenant-limits': {
    severity: 'error',
    title: 'A limit above that of the tenant',
    cause:
      'Servers and tools of a tenant’s configuration may set limits up to those of the tenant in the settings, or else of the settings.',
    fix: 'Write a smaller value, or raise `limits` of the tenant.',
  },
  'prefix-form': {
    severity: 'error',
    title: 'A prefix of the wrong form',
    cause:
      'A prefix is a URL path: it begins with a slash, does not end with one, and is free of `?`, `#`, spaces and dot segments.',
    fix: 'Write it like `/users` or `/shop/orders`.',
    wrong: 'routers:\n  - {server: user, prefix: user/}',
    right: 'routers:\n  - {server: user, prefix: /user}',
  },
  'dangling-server': {
    severity: 'error',
    title: 'A router names a server that does not exist',
    cause:
      '`server` of a router is the `name` of a server or of an MCP server of the same configuration; a list may also name `configuration/server`.',
    fix: 'Fix the name, or add the server.',
  },
  'dangling-member': {
    severity: 'warning',
    title: 'A list of servers names a server or a tool that does not exist',
    cause:
      'A router names servers of other configurations as `configuration/server`, and chooses from their tools. While there is none of that name, clients see nothing of it; the other servers of the list are not affected.',
    fix: 'Fix the name, or add the configuration.',
    wrong: 'routers:\n  - {server: [user/usr], prefix: /all}\nservers: [{name: user}]',
    right: 'routers:\n  - {server: [user/user], prefix: /all}\nservers: [{name: user}]',
  },
  'name-clash': {
    severity: 'warning',
    title: 'Tools of two servers of a router have the same name',
    cause:
      'Clients call a tool by its name, so of two with the same name only that of the first server is served.',
    fix: 'Write `names: prefixed`, rename one with `toolOverrides`, or hide it with `blockedTools`.',
  },
  'dangling-tool': {
    severity: 'error',
    title: 'allowedTools names a tool that does not exist',
    cause: 'The tools of a server are chosen from the `tools` of the same configuration.',
    fix: 'Fix the name, or add the tool.',
  },
  'reserved-tool-name': {
    severity: 'error',
    title: 'A tool with the name of a discovery tool',
    cause:
      'With `discovery: {mode: search}` or `auto` the gateway adds `search_tools`, `describe_tools`, `call_read_tool` and `call_tool` to the tools of the router. A tool of the service with one of these names is neither listed nor found, and nobody can call it.',
    fix: 'Rename the tool; one of a proxied server by `name` in `toolOverrides`.',
    wrong:
      'routers:\n  - {server: user, prefix: /user, discovery: {mode: search}}\nservers:\n  - {name: user}\ntools:\n  - {name: search_tools, description: Finds power tools, endpoint: http://localhost/power-tools}',
    right:
      'routers:\n  - {server: user, prefix: /user, discovery: {mode: search}}\nservers:\n  - {name: user}\ntools:\n  - {name: search_power_tools, description: Finds power tools, endpoint: http://localhost/power-tools}',
  },
  'empty-allowed-tools': {
    severity: 'warning',
    title: 'A server that allows no tools',
    cause: 'An empty `allowedTools` allows none; without the key every tool is allowed.',
    fix: 'Name the tools, or remove the key to allow all of them.',
    wrong: 'servers:\n  - {name: user, allowedTools: []}',
    right: 'servers:\n  - {name: user}',
  },
  'no-router': {
    severity: 'warning',
    title: 'A configuration without a router',
    cause: 'Without a router, clients cannot reach the servers of the configuration.',
    fix: 'Add a router with a prefix.',
    wrong: 'name: user',
    right: 'name: user\nrouters:\n  - {server: user, prefix: /user}\nservers:\n  - name: user',
  },
  'unrouted-server': {
    severity: 'warning',
    title: 'A server without a router',
    cause: 'No router names the server, so clients cannot reach it.',
    fix: 'Add a router for it, or remove it.',
  },
} as const satisfies Record<string, CodeInfo>
