import type { CodeInfo } from '../codes.ts'

/** What can be served, and experience advises against. */
export const PRACTICE = {
  'file-name': {
    severity: 'info',
    title: 'A file that is named differently from its configuration',
    cause:
      'The log, the status page and commands name configurations by `name`; someone who looks for the file of `orders` does not expect `billing.yaml`.',
    fix: 'Rename one of the two.',
    wrong: '# billing.yaml\nname: orders',
    right: '# orders.yaml\nname: orders',
  },
  'unused-tool': {
    severity: 'warning',
    title: 'A tool that no server allows',
    cause:
      'Every server of the configuration has `allowedTools`, and none names the tool: no client gets it.',
    fix: 'Name it in `allowedTools`, or remove it.',
    wrong:
      'servers:\n  - {name: user, allowedTools: [list]}\ntools:\n  - {name: list, description: Lists users, endpoint: http://localhost/users}\n  - {name: count, description: Counts users, endpoint: http://localhost/count}',
    right:
      'servers:\n  - {name: user, allowedTools: [list, count]}\ntools:\n  - {name: list, description: Lists users, endpoint: http://localhost/users}\n  - {name: count, description: Counts users, endpoint: http://localhost/count}',
  },
  'repeated-entry': {
    severity: 'warning',
    title: 'A repeated entry in a list',
    cause:
      'In `allowedTools`, `blockedTools` and the lists of `cors` the second one has no effect; another name may have been meant.',
    fix: 'Remove one of the two, or write the entry that was meant.',
    wrong:
      'servers:\n  - {name: user, allowedTools: [list, list]}\ntools:\n  - {name: list, description: Lists users, endpoint: http://localhost/users}',
    right:
      'servers:\n  - {name: user, allowedTools: [list]}\ntools:\n  - {name: list, description: Lists users, endpoint: http://localhost/users}',
  },
  'hard-to-find': {
    severity: 'info',
    title: 'A tool that its own first sentence does not find',
    cause:
      'A search for the first sentence of the description finds five other tools of the configuration first: a model that looks for what the tool does does not see it. `plantgw search` shows which words matched.',
    fix: 'Write into the first sentence what only this tool does, or add `keywords`.',
    wrong:
      'tools:\n  - {name: cats, description: Gets data, endpoint: http://localhost/cats}\n  - {name: cows, description: Gets data, endpoint: http://localhost/cows}\n  - {name: dogs, description: Gets data, endpoint: http://localhost/dogs}\n  - {name: fish, description: Gets data, endpoint: http://localhost/fish}\n  - {name: hens, description: Gets data, endpoint: http://localhost/hens}\n  - {name: pigs, description: Gets data, endpoint: http://localhost/pigs}',
    right:
      'tools:\n  - {name: cats, description: Lists cats, endpoint: http://localhost/cats}\n  - {name: cows, description: Lists cows, endpoint: http://localhost/cows}\n  - {name: dogs, description: Lists dogs, endpoint: http://localhost/dogs}\n  - {name: fish, description: Lists fish, endpoint: http://localhost/fish}\n  - {name: hens, description: Lists hens, endpoint: http://localhost/hens}\n  - {name: pigs, description: Lists pigs, endpoint: http://localhost/pigs}',
  },
  'indistinct-tools': {
    severity: 'warning',
    title: 'Two tools that no query tells apart',
    cause:
      'The names, descriptions and arguments of two tools have the same words: neither a search nor a model can choose between them.',
    fix: 'Say in the descriptions when to use which, or remove one of the two.',
    wrong:
      'tools:\n  - {name: find_user, description: Finds a user, endpoint: http://localhost/v1/users}\n  - {name: find_user_2, description: Finds a user, endpoint: http://localhost/v2/users}',
    right:
      'tools:\n  - {name: find_user, description: Finds a user by name, endpoint: http://localhost/v1/users}\n  - {name: find_user_2, description: Finds a user by address, endpoint: http://localhost/v2/users}',
  },
  'name-length': {
    severity: 'warning',
    title: 'The name of a tool is too long for model providers',
    cause:
      'MCP allows 128 characters; model providers allow 64 and refuse the whole request for a longer one. In a list of servers the name of the server and `__` count too; clients may add a prefix.',
    fix: 'Shorten the name of the tool or of the server; a name for people goes into `title`.',
    wrong:
      'tools:\n  - name: get_all_of_the_orders_of_one_customer_of_the_shop_sorted_by_their_date\n    description: Orders by date\n    endpoint: http://localhost/orders',
    right: 'tools:\n  - {name: get_orders, description: Orders by date, endpoint: http://localhost/orders}',
  },
  'argument-name': {
    severity: 'warning',
    title: 'The name of an argument that model providers refuse',
    cause:
      'Arguments are properties of a JSON Schema that clients hand to a model. Providers accept names of 1 to 64 of the characters `A-Z a-z 0-9 _ . -` and refuse a request with any other name, with all its tools.',
    fix: 'Give the argument a plain name, and write the API’s own name into the endpoint, a header or the body.',
    wrong:
      'tools:\n  - name: find\n    description: Finds users\n    endpoint: http://localhost/users\n    args:\n      - {name: "filter[name]", position: query, description: Part of the name}',
    right:
      'tools:\n  - name: find\n    description: Finds users\n    endpoint: "http://localhost/users?filter[name]={{.Args.name}}"\n    args:\n      - {name: name, position: path, required: true, description: Part of the name}',
  },
  'missing-description': {
    severity: 'warning',
    title: 'A tool or argument without a description',
    cause:
      'A model chooses tools and fills in arguments by their descriptions. Without one it guesses from the name. For arguments this is a note.',
    fix: 'Describe in one sentence what the tool does or what the argument means.',
    wrong: 'tools:\n  - {name: find, endpoint: http://localhost/users}',
    right: 'tools:\n  - {name: find, description: Finds users by name, endpoint: http://localhost/users}',
  },
  'long-description': {
    severity: 'warning',
    title: 'A description that is too long',
    cause:
      'Some model providers refuse descriptions of more than 1,024 characters, and every request pays for each character. `limits.descriptionLength` in `plantgw.lint.yaml` sets another limit.',
    fix: 'Keep the sentences that help a model decide whether and how to call the tool; move the others into the result or a prompt.',
  },
  'suspicious-text': {
    severity: 'warning',
    title: 'A text with characters that people do not see',
    cause:
      'Controls, directions of text (bidi), zero-width characters and tags are invisible in editors and reviews, and models read them: instructions hide in them. The gateway leaves them out of descriptions and instructions, but not out of names and templates.',
    fix: 'Delete the characters, or write the text again by hand.',
  },
  'tool-list-size': {
    severity: 'warning',
    title: 'A list of tools that costs a model many tokens',
    cause:
      'A client passes the whole `tools/list` of a prefix to its model, usually with every request. Above `limits.toolListTokens` of `plantgw.lint.yaml` (10,000; counted as 4 characters per token) that is slow and expensive, and models choose worse among many tools.',
    fix: 'Let clients search the tools (`discovery: {mode: auto}` of the router), split them over several servers and prefixes with `allowedTools`, or shorten descriptions and schemas.',
  },
  'required-default': {
    severity: 'warning',
    title: 'An argument that is required and has a default',
    cause:
      'Clients see that the argument must be given, so a model makes up a value instead of leaving it to the default.',
    fix: 'Write `required: false`, or remove the default.',
    wrong:
      'args:\n  - {name: limit, position: query, type: integer, required: true, default: "20", description: How many}',
    right: 'args:\n  - {name: limit, position: query, type: integer, default: "20", description: How many}',
  },
  'array-items': {
    severity: 'warning',
    title: 'An array without a schema of its items',
    cause:
      'Model providers refuse a function that has an array without `items` (`array schema missing items`), and models can only guess.',
    fix: 'Write the schema of an item in `items`.',
    wrong: 'args:\n  - {name: tags, position: query, type: array, description: Tags that all must be there}',
    right:
      'args:\n  - {name: tags, position: query, type: array, items: {type: string}, description: Tags that all must be there}',
  },
  'schema-top-level': {
    severity: 'warning',
    title: 'A keyword at the top of a schema that model providers refuse',
    cause:
      'For model providers the `inputSchema` of a function must be a plain object: `oneOf`, `anyOf`, `allOf`, `not`, `enum` or `$ref` at its top makes them refuse the whole request.',
    fix: 'Move the alternatives into a property, or make each of them a tool.',
    wrong:
      'inputSchema:\n  type: object\n  properties: {id: {type: string}, name: {type: string}}\n  oneOf: [{required: [id]}, {required: [name]}]',
    right: 'inputSchema:\n  type: object\n  properties: {id: {type: string}, name: {type: string}}',
  },
  'schema-disagreement': {
    severity: 'warning',
    title: 'Keywords of a schema that contradict each other',
    cause:
      'A `default` is not one of the values of `enum`, or a value does not have the `type`: the model is asked to send a value that is then refused.',
    fix: 'Make the two agree, or remove one.',
    wrong:
      'inputSchema:\n  type: object\n  properties:\n    size: {type: string, enum: [small, large], default: medium}',
    right:
      'inputSchema:\n  type: object\n  properties:\n    size: {type: string, enum: [small, large], default: small}',
  },
  'schema-dialect': {
    severity: 'warning',
    title: 'A keyword that JSON Schema 2020-12 does not have',
    cause:
      'The keyword comes from an older draft or from OpenAPI 3.0, and is silently ignored: `nullable: true` does not allow null, and `dependencies` requires nothing.',
    fix: 'Write the keyword that 2020-12 has instead, as the hint says.',
    wrong: 'inputSchema:\n  type: object\n  properties:\n    tag: {type: string, nullable: true}',
    right: 'inputSchema:\n  type: object\n  properties:\n    tag: {type: [string, "null"]}',
  },
  'literal-secret': {
    severity: 'warning',
    title: 'A secret in the file',
    cause:
      'Configuration files are kept under version control, copied and shown; by its form or its key this is a token, a password or a private key. No output of `validate` shows it.',
    fix: 'Replace the secret at its issuer, since it may have been read; then pass the new one as `${NAME}`.',
    wrong: 'servers:\n  - name: user\n    config: {token: 9f8Ac27b-41Ee-8d03-77Bc-5521c0aAe9d4}',
    right: 'servers:\n  - name: user\n    config: {token: "${USER_TOKEN:}"}',
  },
  'weak-token': {
    severity: 'warning',
    title: 'A short token',
    cause:
      'A token of fewer than 16 characters can be guessed, as everybody who reaches the gateway may try; `limits.maxFailedLogins` only makes that slow.',
    fix: 'Make another one with `openssl rand -base64 32`, and pass it as `${NAME}`.',
    wrong:
      'routers:\n  - server: user\n    prefix: /user\n    auth: {mode: bearer, tokens: [{token: secret, caller: agent}]}',
    right:
      'routers:\n  - server: user\n    prefix: /user\n    auth: {mode: bearer, tokens: [{token: "${AGENT_TOKEN}", caller: agent}]}',
  },
  'plain-http': {
    severity: 'warning',
    title: 'http to a host on the internet',
    cause: 'Anyone on the network path can read and change arguments, results and credentials.',
    fix: 'Write `https`.',
    wrong: 'tools:\n  - {name: find, description: Finds users, endpoint: http://api.shop.com/users}',
    right: 'tools:\n  - {name: find, description: Finds users, endpoint: https://api.shop.com/users}',
  },
  'private-address': {
    severity: 'info',
    title: 'An address of a private network',
    cause:
      'The address belongs to a different machine in every network. An address like 169.254.169.254 is a warning: cloud machines give out their credentials there.',
    fix: 'Pass the address as `${NAME}`, or write a name that the network resolves.',
    wrong: 'tools:\n  - {name: find, description: Finds users, endpoint: http://192.168.1.20/users}',
    right:
      'tools:\n  - {name: find, description: Finds users, endpoint: "${USERS_URL:http://localhost}/users"}',
  },
  'cors-any-origin': {
    severity: 'warning',
    title: 'Any web site may call the tools in production',
    cause:
      '`allowOrigins: ["*"]` without a login lets every page that somebody opens call the tools from that person’s network. It is reported when the settings listen beyond this machine, or `NODE_ENV` is `production`.',
    fix: 'List the origins of your own pages, or require a login with `auth`.',
    wrong: 'cors:\n  allowOrigins: ["*"]',
    right: 'cors:\n  allowOrigins: [https://app.example.com]',
  },
} as const satisfies Record<string, CodeInfo>
