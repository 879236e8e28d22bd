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
| \`.Args.name\` | the arguments of the call, defaults filled in | everywhere |
| \`.Request.Headers.Name\` | the headers of the caller's request; \`{{index .Request.Headers "X-Trace-Id"}}\` for names with hyphens | everywhere |
| \`.Request.Body\` | the body of the caller's request | everywhere |
| \`.Response.Data.name\` | the upstream's answer, when it is JSON | \`responseBody\`, \`errorBody\` |
| \`.Response.Body\` | the upstream's answer as text | \`responseBody\`, \`errorBody\` |

A name that does not exist is missing, also \`constructor\` and \`__proto__\`: a template reads only what the
data itself holds.

## How values print

Numbers print as JSON writes them, exact at any size: \`1000000\`, not Go's \`1e+06\`. Lists and maps print as
JSON, with the keys in order. A JSON number compares with any number, so \`{{if eq .Args.n 5}}\` works. A value
that is missing or null never prints as \`<no value>\`; what happens instead depends on the place.

## Escaping follows the place

Each value is escaped for the place where it stands, so that no argument can break out of it. The place of
each action is found when the file is loaded. Branches of a block that end in different places, such as one
that closes a JSON string and one that does not, are an error.

| place | how a value goes in | missing or null |
|---|---|---|
| a JSON body, inside of a string: \`{"name": "{{.Args.name}}"}\` | escaped for JSON | nothing |
| a JSON body, where a value stands: \`{"id": {{.Args.id}}}\` | numbers, booleans, lists and maps as JSON; a text that is itself one JSON value as it is, any other text as a JSON string | \`null\` |
| a URL's path: \`/plants/{{.Args.id}}\` | percent-encoded as one segment; a segment that comes out as \`.\`, \`..\` or empty is refused | an error |
| a URL's query or fragment: \`?tag={{.Args.tag}}\` | percent-encoded | an error |
| a header | as it is, beyond ASCII in UTF-8; control characters are refused | the header is not sent |
| an \`application/x-www-form-urlencoded\` body | percent-encoded as a key or value, spaces as \`+\` | nothing |
| any other text | as it is | nothing |

- In a URL, what the author wrote goes in as it is: the template's text, \`.Config\` and \`env\`. So
  \`{{.Config.base}}/plants\` works. What comes from a caller or an upstream never does, nor does a variable
  that holds it, and it may not decide the scheme, host or port: that is an error when the file is loaded.
- Where a template changes a map with such a value (\`set\`, \`merge\`, …), every map that it makes counts as coming
  from outside, for the changed map may also be a member of another.
- The results of \`toJSON\` and \`urlquery\` are escaped already and are not escaped twice.
- A text that a function puts together of several, such as \`{{printf "{%q: 1}" .Args.name}}\`, becomes a list or map
  of a JSON body only through \`raw\`: what stands in it could have left its quotes. Use \`dict\`, \`list\` and \`toJSON\`.
- A header that would hold nothing but the text around its values and blocks, such as \`Bearer \` without a token, is
  not sent.
- \`raw\` prints a value without any escaping. A header still takes no control character, a path no segment
  \`..\`, also not in the middle of the value, and what comes from outside still does not decide the host.
- A \`responseBody\` is JSON when the template's own text is the frame of a JSON object or array, also inside of the
  branches of \`if\`, \`with\` and \`range\` if all of them are; else it is text.
- A value in front of a colon is a key of an object, so it is always written as a JSON string.
- Commas that the template itself writes, such as \`{{$sep}}\` where \`$sep\` was only ever given \`""\` and \`", "\`, go
  between the values and members of a JSON body as they are.

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
| length of the output, and of any text on the way, in UTF-16 units | ${number(DEFAULT_TEMPLATE_LIMITS.output)} |

What goes beyond ends with an error. Functions that work on long texts and lists count as more than one step.
Regular expressions have RE2's syntax and take time linear to the text.

## Functions

\`env\` takes its values when the file is loaded; a variable that is not set and has no default is an error
then. Its name is written in the template, it cannot come from a caller. Numbers in the functions that count
(\`add\`, \`div\`, …) are whole; those that end in \`f\` work with decimals.
`

/** The page of the template language: places, limits, and a table of all functions made from the code. */
export function templatesPage(): string {
  const groups = functionGroups.map(({ title, functions }) => {
    const rows = functions.map(({ usage, doc }) => `| \`${usage}\` | ${doc.replaceAll('|', '\\|')} |`)
    return [`### ${title}`, '', '| function | what it gives |', '|---|---|', ...rows, ''].join('\n')
  })
  return [INTRODUCTION, ...groups].join('\n')
}
