import { DEFAULT_TEMPLATE_LIMITS, functionGroups } from '../src/template/index.ts'

const number = (value: number) => value.toLocaleString('en-US')

const INTRODUCTION = `# Templates

<!-- Made by \`npm run docs\` from the code: edit docs/templates.ts. -->

Endpoints, header values, bodies and prompts are templates in the language of Go's
[text/template](https://pkg.go.dev/text/template), version 1.25: \`{{.Args.name}}\`, pipelines, variables,
\`if\`, \`else if\`, \`with\`, \`range\`, \`break\`, \`continue\`, \`define\`, \`template\`, \`block\`, trim markers. They are
compiled once, when the file is loaded.

## What a template can read

| value | what it is | where |
|---|---|---|
| \`.Config.name\` | the server's \`config\` | everywhere |
| \`.Args.name\` | the arguments of the call, with defaults | everywhere |
| \`.Request.Headers.Name\` | the headers of the caller's request; \`{{index .Request.Headers "X-Trace-Id"}}\` for names with hyphens | everywhere |
| \`.Request.Body\` | the body of the caller's request | everywhere |
| \`.Response.Data.name\` | the upstream's response, if it is JSON | \`responseBody\`, \`errorBody\` |
| \`.Response.Body\` | the upstream's response as a string | \`responseBody\`, \`errorBody\` |

A name that does not exist is missing, including \`constructor\` and \`__proto__\`: a template reads only the data's
own members.

## How values print

Numbers print as JSON writes them, exact at any size: \`1000000\`, not Go's \`1e+06\`. Lists and maps print as
JSON, with sorted keys. A JSON number compares with any number, so \`{{if eq .Args.n 5}}\` works. A value
that is missing or null never prints as \`<no value>\`; the result depends on the place.

## Escaping follows the place

Each value is escaped for its place, so that no argument can break out of it. The place of each action is determined
when the file is loaded. Branches of a block that end in different contexts, such as one that closes a JSON string and
one that does not, are an error.

| place | how a value is written | missing or null |
|---|---|---|
| a JSON body, inside a string: \`{"name": "{{.Args.name}}"}\` | escaped for JSON | nothing |
| a JSON body, in the place of a value: \`{"id": {{.Args.id}}}\` | numbers, booleans, lists and maps as JSON; a string that is itself one JSON value unchanged, any other string as a JSON string | \`null\` |
| a URL's path: \`/plants/{{.Args.id}}\` | percent-encoded as one segment; a segment that would be \`.\`, \`..\` or empty is refused | an error |
| a URL's query or fragment: \`?tag={{.Args.tag}}\` | percent-encoded | an error |
| a header | unchanged, non-ASCII characters in UTF-8; control characters are refused | the header is not sent |
| an \`application/x-www-form-urlencoded\` body | percent-encoded as a key or value, spaces as \`+\` | nothing |
| any other text | unchanged | nothing |

- In a URL, values of the author are trusted and written unchanged: the template's text, \`.Config\` and \`env\`. So
  \`{{.Config.base}}/plants\` works. Values from a caller or an upstream, and variables that hold them, are always
  encoded. They may not decide the scheme, host or port: that is an error when the file is loaded.
- If a template changes a map with such a value (\`set\`, \`merge\`, …), every map that it makes counts as untrusted, as
  the changed map may be a member of another.
- The results of \`toJSON\` and \`urlquery\` are not escaped again.
- A string that a function builds from several, such as \`{{printf "{%q: 1}" .Args.name}}\`, becomes an array or object
  of a JSON body only through \`raw\`: a value in it could have left its quotes. Use \`dict\`, \`list\` and \`toJSON\`.
- A header that would contain only the text around its values and blocks, such as \`Bearer \` without a token, is not
  sent.
- \`raw\` prints a value without any escaping. A header still refuses control characters, a path
  refuses a segment \`..\` anywhere in the value, and untrusted values still cannot decide the host.
- A \`responseBody\` is JSON if the template's own text is the frame of a JSON object or array, in every branch of \`if\`,
  \`with\` and \`range\`; otherwise it is text.
- A value before a colon is an object's key, so it is always written as a JSON string.
- Commas that the template itself writes, such as \`{{$sep}}\` if \`$sep\` is only ever set to \`""\` or \`", "\`, are
  written unchanged between the values and members of a JSON body.

## Finding mistakes

\`plantgw lint-templates <paths…>\` tells every mistake in templates at its place in the file, all at once:
unknown names with the nearest known one, undeclared and unused arguments, operators of other languages,
wrong quotes, unclosed blocks, \`raw\`. It renders every template of a request with sample arguments, all of them
and only the required ones, and reads the body, so that a comma too many is found before an upstream finds
it. \`--fix\` mends what leaves no doubt: the case of a header, and a name that is one letter off; nothing else
of the file changes. \`-\` reads standard input. [Findings](findings.md) explains each code. In \`.Request\`,
headers are found in any case, in \`.Response\` only as Go writes them, such as \`Content-Type\`.

\`plantgw render <file> <tool> key=value…\` shows what a call would send, by the code that serves:

\`\`\`sh
plantgw render shop.yaml placeOrder 'customer={"name": "Ada"}' 'items=[]' --header 'X-Trace-Id: 7'
plantgw render shop.yaml placeOrder 'customer={"name": "Ada"}' 'items=[]' --response answer.json
\`\`\`

Values are JSON, unless the argument is a string; \`key:=JSON\` is JSON always, \`key=@file\` reads a file. Values of \`config\` and of the
environment whose names look like secrets are masked, and so are headers such as \`Authorization\`;
\`--show-secrets\` shows them. The answer of \`--response\` has the status 200, and is JSON when its text is.

## Limits

| limit | default |
|---|---|
| nested blocks, parentheses and template calls | ${number(DEFAULT_TEMPLATE_LIMITS.depth)} |
| actions, loop rounds and function calls of one rendering | ${number(DEFAULT_TEMPLATE_LIMITS.steps)} |
| length of the output, and of any intermediate string, in UTF-16 units | ${number(DEFAULT_TEMPLATE_LIMITS.output)} |

A rendering that exceeds a limit fails. Functions that work on long strings and lists count as more than one step.
Regular expressions have RE2's syntax and run in linear time.

## Functions

\`env\` reads its values when the file is loaded; a variable that is not set and has no default is an error then. Its
name must be written in the template, it cannot come from a caller. Arithmetic functions (\`add\`, \`div\`, …) work with
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
