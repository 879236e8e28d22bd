import type { CodeInfo } from '../codes.ts'

/** Templates, and what is sent by them. */
export const TEMPLATES = {
  'template-syntax': {
    severity: 'error',
    title: 'A template that cannot be compiled',
    cause: 'The text between `{{` and `}}` breaks the rules of Go’s text/template.',
    fix: 'Fix the marked place.',
    wrong: 'endpoint: http://localhost/users/{{.Args.id',
    right: 'endpoint: http://localhost/users/{{.Args.id}}',
  },
  'template-context': {
    severity: 'error',
    title: 'A template whose escaping cannot be decided',
    cause: 'Values are escaped for the place where they stand; here the place is unknown or not safe.',
    fix: 'Let every branch end in the same place, and keep arguments out of scheme, host and port.',
  },
  'template-root': {
    severity: 'error',
    title: 'An unknown name in a template',
    cause: 'Templates read `.Config`, `.Args`, `.Request` and, in responses, `.Response`, with their fields.',
    fix: 'Fix the name; a name begins with a dot.',
    wrong: 'endpoint: http://localhost/users/{{.Arg.id}}',
    right: 'endpoint: http://localhost/users/{{.Args.id}}',
  },
  'template-phase': {
    severity: 'error',
    title: 'A value that does not exist here',
    cause:
      'Requests are made before there is a `.Response`; `config` is read at load, when there is no call.',
    fix: 'Move the template to where the value exists: `.Response` to `responseBody` or `errorBody`.',
    wrong: 'requestBody: \'{"id": {{.Response.Data.id}}}\'',
    right: 'requestBody: \'{"id": {{.Args.id}}}\'',
  },
  'template-argument': {
    severity: 'error',
    title: 'An argument that is not declared',
    cause: 'Calls with undeclared arguments are refused, so the value would always be missing.',
    fix: 'Fix the name, or add the argument under `args`.',
    wrong: 'endpoint: http://localhost/users/{{.Args.user_id}}\nargs:\n  - {name: id, position: path}',
    right: 'endpoint: http://localhost/users/{{.Args.id}}\nargs:\n  - {name: id, position: path}',
  },
  'template-config': {
    severity: 'error',
    title: 'A config key that the server does not have',
    cause:
      'The server that offers the tool has no such key under `config`, so the value would always be missing.',
    fix: 'Fix the name, or add the key under `config`.',
    wrong:
      'servers:\n  - {name: user, config: {base: http://localhost}}\ntools:\n  - {name: list, endpoint: "{{.Config.url}}/users"}',
    right:
      'servers:\n  - {name: user, config: {base: http://localhost}}\ntools:\n  - {name: list, endpoint: "{{.Config.base}}/users"}',
  },
  'template-hyphen': {
    severity: 'error',
    title: 'A name with a hyphen after a dot',
    cause: 'A name after a dot consists of letters, digits and underscores; the hyphen ends it.',
    fix: 'Use `index`: `{{index .Request.Headers "X-Trace-Id"}}`.',
    wrong: 'headers:\n  X-Trace-Id: "{{.Request.Headers.X-Trace-Id}}"',
    right: 'headers:\n  X-Trace-Id: \'{{index .Request.Headers "X-Trace-Id"}}\'',
  },
  'template-header-case': {
    severity: 'warning',
    title: 'A header name in unusual case',
    cause:
      'Templates name headers as Go writes them, such as `Content-Type`; headers of `.Response` are found in no other form.',
    fix: 'Capitalize every word of the name.',
    wrong: 'headers:\n  Authorization: "{{.Request.Headers.authorization}}"',
    right: 'headers:\n  Authorization: "{{.Request.Headers.Authorization}}"',
  },
  'token-passthrough': {
    severity: 'error',
    title: 'The token of the gateway is sent to an upstream',
    cause:
      'The router authenticates its callers: `Authorization` of their requests is a token for the gateway. An upstream that got it could use it at the gateway. MCP forbids to pass it on, and templates do not see it there.',
    fix: 'Write `credentials` for the server: with `type: tokenExchange` the token is exchanged for one of the upstream, the other types send a credential of the gateway. `.Caller` tells who calls. A credential of the caller for the upstream comes in another header, such as `X-Upstream-Authorization`.',
  },
  'template-function': {
    severity: 'error',
    title: 'An unknown function',
    cause: 'A bare word in a template is a function, and no function has this name.',
    fix: 'Fix the name; fields begin with a dot, strings are in double quotes.',
    wrong: 'requestBody: "{{toJSN .Args.user}}"',
    right: 'requestBody: "{{toJSON .Args.user}}"',
  },
  'template-block': {
    severity: 'error',
    title: 'A block that is not closed',
    cause: '`if`, `with`, `range`, `define` and `block` each need an `{{end}}`.',
    fix: 'Add `{{end}}` where the block ends.',
    wrong: 'requestBody: \'{ {{if .Args.id}}"id": 1 }\'',
    right: 'requestBody: \'{ {{if .Args.id}}"id": 1{{end}} }\'',
  },
  'template-operator': {
    severity: 'error',
    title: 'An operator of another language',
    cause:
      'Go templates have functions instead of operators and methods, written before their arguments, and strings in double quotes.',
    fix: 'Write the function that the hint names.',
    wrong: 'requestBody: \'{"big": {{if .Args.n == 1}}true{{else}}false{{end}}}\'',
    right: 'requestBody: \'{"big": {{if eq .Args.n 1}}true{{else}}false{{end}}}\'',
  },
  'template-quotes': {
    severity: 'warning',
    title: 'A string argument quoted wrongly',
    cause:
      'A JSON string has one pair of double quotes: without them a string such as `5` becomes a number, with `toJSON` inside them it gets a second pair.',
    fix: 'Write `"{{.Args.name}}"`, or `{{toJSON .Args.name}}` without quotes.',
    wrong: 'requestBody: \'{"name": {{.Args.name}}}\'',
    right: 'requestBody: \'{"name": "{{.Args.name}}"}\'',
  },
  'template-object': {
    severity: 'warning',
    title: 'An object or array inside quotes',
    cause: 'Inside a JSON string the value becomes a string of JSON, which few upstreams expect.',
    fix: 'Remove the quotes around it.',
    wrong: 'requestBody: \'{"user": "{{.Args.user}}"}\'',
    right: 'requestBody: \'{"user": {{.Args.user}}}\'',
  },
  'template-array': {
    severity: 'warning',
    title: 'An array in brackets of its own',
    cause: 'An array writes its own brackets; in further ones it is the only item of an array.',
    fix: 'Write `{{toJSON .Args.ids}}` without brackets.',
    wrong:
      'requestBody: \'{"ids": [{{.Args.ids}}]}\'\nargs:\n  - {name: ids, position: body, type: array, required: true}',
    right:
      'requestBody: \'{"ids": {{toJSON .Args.ids}}}\'\nargs:\n  - {name: ids, position: body, type: array, required: true}',
  },
  'template-literal': {
    severity: 'warning',
    title: 'Text that was meant otherwise',
    cause:
      'Only `{{…}}` is replaced; placeholders of other languages, and spaces in a URL, are sent unchanged.',
    fix: 'Write `{{.Args.name}}` for an argument, `%20` for a space.',
    wrong: 'endpoint: http://localhost/users?id={id}\nargs:\n  - {name: id, position: query}',
    right:
      'endpoint: http://localhost/users?id={{.Args.id}}\nargs:\n  - {name: id, position: query, required: true}',
  },
  'template-optional': {
    severity: 'warning',
    title: 'An optional argument where a value is needed',
    cause: 'A call may leave the argument out; the request then contains `null`.',
    fix: 'Give it a default or make it required, or put the member into `{{if …}}`.',
    wrong:
      'requestBody: \'{"limit": {{.Args.limit}}}\'\nargs:\n  - {name: limit, position: body, type: integer}',
    right:
      'requestBody: \'{"limit": {{.Args.limit}}}\'\nargs:\n  - {name: limit, position: body, type: integer, default: "20"}',
  },
  'template-unused': {
    severity: 'warning',
    title: 'An argument that nothing uses',
    cause: 'Clients are asked for it, but it reaches neither the request nor the result.',
    fix: 'Use it in a template, give it another position, or remove it.',
  },
  'template-path': {
    severity: 'error',
    title: 'A path argument that the endpoint does not contain',
    cause: 'An argument of position `path` is sent only where the endpoint names it.',
    fix: 'Write `{{.Args.name}}` into the endpoint, or give the argument another position.',
    wrong: 'endpoint: http://localhost/users/{id}\nargs:\n  - {name: id, position: path}',
    right: 'endpoint: http://localhost/users/{{.Args.id}}\nargs:\n  - {name: id, position: path}',
  },
  'template-host': {
    severity: 'error',
    title: 'A caller’s value decides the host',
    cause: 'A caller could send the request, with its credentials, to any host.',
    fix: 'Write the host into the endpoint or into `config`; begin the path after it with `/`.',
    wrong: 'endpoint: https://{{.Args.host}}/users',
    right: 'endpoint: https://api.example.com/users',
  },
  'template-raw': {
    severity: 'warning',
    title: 'A value without escaping',
    cause:
      '`raw` inserts the value unchanged: a caller’s quote, slash or line break can break out of its place.',
    fix: 'Remove `raw`; use it only for values that you wrote yourself.',
    wrong: 'requestBody: \'{"name": "{{raw .Args.name}}"}\'',
    right: 'requestBody: \'{"name": "{{.Args.name}}"}\'',
  },
  'template-unescaped': {
    severity: 'error',
    title: 'A caller’s value in a body that is not escaped',
    cause:
      'Values are escaped in bodies that are JSON, JSON lines, a form or XML. In a body of any other type, such as CSV, GraphQL or YAML, a value could end what the template has begun.',
    fix: 'Send JSON where the API takes it. Write `raw` where any text of a caller may stand, such as in a body that is one argument.',
    wrong: 'headers: {Content-Type: text/csv}\nrequestBody: "name\\n{{.Args.name}}"',
    right: 'headers: {Content-Type: text/plain}\nrequestBody: "{{raw .Args.note}}"',
  },
  'template-body': {
    severity: 'error',
    title: 'A body that is not JSON',
    cause:
      'The template was rendered with sample arguments that a call may have (all, the required ones, each optional one alone and left out, both booleans, every value of an enum), and the result is not JSON.',
    fix: 'Fix commas, brackets and quotes; check both branches of every `{{if}}`.',
    wrong: 'requestBody: \'{"a": 1,}\'',
    right: 'requestBody: \'{"a": 1}\'',
  },
  'template-render': {
    severity: 'error',
    title: 'A template that fails',
    cause:
      'The template was rendered with sample arguments that a call may have, and stopped with this error: a type that never fits, or, as a warning, an optional argument that is missing.',
    fix: 'Fix the marked place; guard a value that may be missing with `{{if …}}`.',
    wrong: 'endpoint: http://localhost/users/{{.Args.id}}\nargs:\n  - {name: id, position: path}',
    right:
      'endpoint: http://localhost/users/{{.Args.id}}\nargs:\n  - {name: id, position: path, required: true}',
  },
  'forbidden-header': {
    severity: 'error',
    title: 'A header that a tool may not set',
    cause: 'The header frames the message or belongs to one connection; the gateway sets it itself.',
    fix: 'Remove the header.',
  },
} as const satisfies Record<string, CodeInfo>
