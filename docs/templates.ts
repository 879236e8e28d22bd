import { DEFAULT_TEMPLATE_LIMITS, functionGroups } from '../src/template/index.ts'

const number = (value: number) => value.toLocaleString('en-US')

const INTRODUCTION = `# Templates

<!-- Made by \`npm run docs\` from the code: edit docs/templates.ts. -->

## What you need

| you want | write |
|---|---|
| an argument in a path or query | \`/orders/{{.Args.id}}\`, \`?q={{.Args.query}}\`: it is escaped for its place |
| an argument in a JSON body | \`{"name": {{toJSON .Args.name}}}\`, or \`{"name": "{{.Args.name}}"}\` |
| a part only if an argument is given | \`{{if .Args.tag}}&tag={{.Args.tag}}{{end}}\` |
| a value of the server, or of the environment | \`{{.Config.region}}\`, \`{{env "REGION" "eu"}}\` |
| a text made of the response | \`{{.Response.Data.name}}\`, \`{{range .Response.Data}}{{.id}} {{end}}\` |

\`plantgw render FILE TOOL key=value\` shows what a template makes. Most tools need only the first row: \`args\` with \`position\` write
queries, headers and bodies without a template.

Endpoints, header values, bodies and prompts are templates in the language of Go's
[text/template](https://pkg.go.dev/text/template), version 1.25: \`{{.Args.name}}\`, pipelines, variables,
\`if\`, \`else if\`, \`with\`, \`range\`, \`break\`, \`continue\`, \`define\`, \`template\`, \`block\`, trim markers. The gateway
compiles each template once, when it loads the file.

## What a template can read

| value | meaning | where |
|---|---|---|
| \`.Config.name\` | the server's \`config\` | everywhere |
| \`.Args.name\` | the arguments of the call, with defaults | everywhere |
| \`.Request.Headers.Name\` | the headers of the caller's request; \`{{index .Request.Headers "X-Trace-Id"}}\` for names with hyphens | everywhere |
| \`.Caller.subject\` | who calls: also \`issuer\`, \`clientId\`, \`scopes\`, \`claims\`; empty if the router has no authentication ([authentication](authentication.md#credentials-for-upstreams)) | everywhere |
| \`.Request.Body\` | the body of the caller's request | everywhere |
| \`.Response.Data.name\` | the upstream's response, if it is JSON | \`responseBody\`, \`errorBody\` |
| \`.Response.Body\` | the upstream's response as a string | \`responseBody\`, \`errorBody\` |

A name that does not exist is missing, including \`constructor\` and \`__proto__\`: a template reads only the data's
own members.

## How values print

Numbers print as in JSON, exact at any size: \`1000000\`, not Go's \`1e+06\`. Arrays and objects print as
JSON, with sorted keys. A JSON number compares with any number, so \`{{if eq .Args.n 5}}\` works. A value
that is missing or null never prints as \`<no value>\`; the result depends on the place.

## Escaping follows the place

Each value is escaped for its place, so that no argument can break out of it. The place of each action is determined
when the file is loaded. Branches of a block that end in different contexts, such as one that closes a JSON string and
one that does not, are an error.

| place | how a value is written | missing or null |
|---|---|---|
| a JSON body, inside a string: \`{"name": "{{.Args.name}}"}\` | escaped for JSON | nothing |
| a JSON body, in the place of a value: \`{"id": {{.Args.id}}}\` | numbers, booleans, arrays and objects as JSON; a string that is itself one JSON value unchanged, any other string as a JSON string | \`null\` |
| a URL's path: \`/plants/{{.Args.id}}\` | percent-encoded as one segment; a segment that would be \`.\`, \`..\` or empty is refused, and so is a \`/\` or \`\\\` in an argument without [\`slashes\`](tools.md#arguments) | an error |
| a URL's query or fragment: \`?tag={{.Args.tag}}\` | percent-encoded | an error |
| a header | unchanged, non-ASCII characters in UTF-8; control characters are refused | the header is not sent |
| an \`application/x-www-form-urlencoded\` body | percent-encoded as a key or value, spaces as \`+\` | nothing |
| a body of JSON lines (\`application/x-ndjson\`, \`jsonl\`, \`json-seq\`), or of \`text/plain\` that is written as JSON | as in JSON, on one line | as in JSON |
| an XML body (\`text/xml\`, \`application/xml\`, \`+xml\`), in text or in an attribute with quotes | escaped for XML; the result of \`html\` unchanged. Elsewhere, such as in a tag, a comment or CDATA: an error when the file is loaded | nothing |
| a body of any other type, such as CSV, GraphQL or \`text/plain\` | values of callers need \`raw\`: otherwise an error when the file is loaded ([\`template-unescaped\`](findings.md#template-unescaped)) | nothing |
| results and prompts | unchanged | nothing |

- In a URL, values written by the author of the configuration are trusted and stay unchanged: the template's text, \`.Config\`
  and \`env\`. So
  \`{{.Config.base}}/plants\` works. Values from a caller or an upstream, and variables that hold them, are always
  encoded. They must not determine the scheme, host or port: that is an error when the file is loaded.
- If a template changes an object with such a value (\`set\`, \`merge\`, …), every object that the template makes is
  untrusted, because the changed object may be a member of another.
- The results of \`toJSON\` and \`urlquery\` are not escaped again.
- A string that a function builds from several, such as \`{{printf "{%q: 1}" .Args.name}}\`, becomes an array or object
  of a JSON body only through \`raw\`, because a value in it could have left its quotes. Use \`dict\`, \`list\` and \`toJSON\`.
- A header that would contain only the text around its values and blocks, such as \`Bearer \` without a token, is not
  sent.
- \`raw\` prints a value without any escaping. A header still refuses control characters, a path
  refuses a segment \`..\` anywhere in the value, and untrusted values still cannot determine the host.
- A \`responseBody\` is JSON if the template's own text is the frame of a JSON object or array, in every branch of \`if\`,
  \`with\` and \`range\`; otherwise it is text.
- A value before a colon is an object's key, so it is always written as a JSON string.
- Commas that the template itself writes, such as \`{{$sep}}\` if \`$sep\` is only ever set to \`""\` or \`", "\`, are
  written unchanged between the values and members of a JSON body.

## Finding mistakes

\`plantgw lint-templates [paths…]\` reports all mistakes in templates with their places in the file: unknown names with the
most similar known name, undeclared and unused arguments, operators of other languages, wrong quotes, unclosed blocks,
\`raw\`. It renders every template of a request twice, with sample values for all arguments and for only the required
ones, and parses the body, so that it finds a superfluous comma before an upstream does. \`--fix\` applies unambiguous
fixes: the case of a header, and a name that is one letter off; the rest of the file stays unchanged. \`-\` reads standard
input. [Findings](findings.md) explains each code. In \`.Request\` the case of a header name does not matter; in
\`.Response\` it must be that of Go, such as \`Content-Type\`.

\`plantgw render <file> <tool> key=value…\` shows the request that a call would send, made by the same code as in \`serve\`:

\`\`\`sh
plantgw render shop.yaml placeOrder 'customer={"name": "Ada"}' 'items=[]' --header 'X-Trace-Id: 7'
plantgw render shop.yaml placeOrder 'customer={"name": "Ada"}' 'items=[]' --response answer.json
\`\`\`

Values are JSON, unless the argument is a string; the value of \`key:=JSON\` is always JSON, and
\`key=@file\` reads a file. Values of \`config\` and of the
environment whose names look like secrets are masked where a template or \`\${NAME}\` puts them, and so are headers such as
\`Authorization\`; anywhere else, [the secrets that answers never show](tools.md#secrets-in-answers). \`--show-secrets\` shows all of them. The response of \`--response\` has the status 200; it is JSON if its text is valid JSON.

## Limits

| limit | default |
|---|---|
| nested blocks, parentheses and template calls | ${number(DEFAULT_TEMPLATE_LIMITS.depth)} |
| actions, loop rounds and function calls of one rendering | ${number(DEFAULT_TEMPLATE_LIMITS.steps)} |
| length of the output, and of any intermediate string, in UTF-16 units | ${number(DEFAULT_TEMPLATE_LIMITS.output)} |

A rendering that exceeds a limit fails. Functions on long strings and arrays count as more than one step.
Regular expressions have RE2's syntax and run in linear time.

## Functions

\`env\` is evaluated when the file is loaded; a variable that is not set and does not have a default is an error. The name of
the variable must be a literal in the template; it cannot come from a caller. Arithmetic functions (\`add\`, \`div\`, …) work with
integers; those that end in \`f\` work with decimals.
`

/** The page of the template language: places, limits, and a table of all functions made from the code. */
export function templatesPage(): string {
  const groups = functionGroups.map(({ title, functions }) => {
    const rows = functions.map(({ usage, doc }) => `| \`${usage}\` | ${doc.replaceAll('|', '\\|')} |`)
    return [`### ${title}`, '', '| function | result |', '|---|---|', ...rows, ''].join('\n')
  })
  return [INTRODUCTION, ...groups].join('\n')
}
