import { FORMATS } from './shapes.ts'

/** The configuration of the prefix `/http`: a tool for each way in which an argument costs time. */
export function budgetTools(api: string): object {
  const tool = (name: string, more: object = {}) => ({
    name,
    description: 'A tool',
    method: 'GET',
    endpoint: `${api}/x`,
    ...more,
  })
  const any = (schema: object) => ({ inputSchema: { type: 'object', properties: { a: schema } } })
  const pattern = (name: string, text: string) => tool(name, any({ type: 'string', pattern: text }))
  const arg = (position: string, type = 'string') => ({ args: [{ name: 'a', position, type }] })
  const body = (name: string, template: string) =>
    tool(name, {
      method: 'POST',
      requestBody: template,
      ...any({}),
      headers: { 'Content-Type': 'text/plain' },
    })
  const says = `${api}/say/shape`
  return {
    name: 'http',
    routers: [{ server: 'api', prefix: '/http' }],
    servers: [{ name: 'api', description: 'A test' }],
    tools: [
      tool('echo', { method: 'POST', args: [{ name: 'a', position: 'body', type: 'object' }] }),
      tool('unique', any({ type: 'array', uniqueItems: true })),
      pattern('words', '^(\\w+\\s?)*$'),
      pattern('digits', '^\\d*\\d*\\d*\\d*\\d*\\d*x$'),
      pattern('trailing', '\\s+$'),
      pattern('alternatives', '^(a|a|ab|aab)*$'),
      pattern('bounded', '^(?:a{1,30}){1,30}$'),
      pattern('unicode', '^\\p{L}*\\p{L}*1$'),
      tool('names', {
        inputSchema: {
          type: 'object',
          properties: { a: { type: 'string' } },
          patternProperties: { '^(x+)+$': {} },
          propertyNames: { pattern: '^(\\w+)+$' },
        },
      }),
      ...FORMATS.map((format) => tool(`format-${format}`, any({ type: 'string', format }))),
      body('float64', '{{float64 .Args.a | raw}}'),
      body('addf', '{{addf 1 .Args.a | raw}}'),
      body('round', '{{round .Args.a 2 | raw}}'),
      body('int', '{{int .Args.a | raw}}'),
      body('add', '{{add 1 .Args.a | raw}}'),
      body('date', '{{toDate "2006-01-02" .Args.a | raw}}'),
      body('semver', '{{semver .Args.a | raw}}'),
      body('printf', '{{printf "%q %x %v" .Args.a .Args.a .Args.a | raw}}'),
      body(
        'regex',
        '{{regexReplaceAll "(a|1)*b" .Args.a "x" | raw}}{{regexFindAll "\\\\d+" .Args.a -1 | raw}}',
      ),
      body('words-of', '{{.Args.a | title | snakecase | wrap 80 | raw}}'),
      body('split', '{{range splitList "1" .Args.a}}{{. | raw}}{{end}}'),
      body('json', '{{toJSON (fromJSON .Args.a) | raw}}'),
      body('trim', '{{trimAll " " .Args.a | raw}}{{trimSuffix "x" .Args.a | raw}}{{nospace .Args.a | raw}}'),
      body('format', '{{printf .Args.a 1 2 3 | raw}}'),
      body('pattern-of', '{{regexMatch .Args.a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" | raw}}'),
      body('range', '{{range .Args.a}}{{. | raw}},{{end}}'),
      body(
        'range-nested',
        '{{range $i, $x := .Args.a}}{{if $i}},{{end}}{{if eq $x 0}}a{{else}}{{printf "%v" $x | raw}}{{end}}{{end}}',
      ),
      body('range-map', '{{range $k, $v := .Args.a}}{{$k | upper | quote | raw}}: {{$v | raw}}{{end}}'),
      body('sort', '{{.Args.a | toJSON | len | raw}}{{keys .Args.a | sortAlpha | join "," | raw}}'),
      tool('in-path', { endpoint: `${api}/{{.Args.a}}/x`, ...arg('path') }),
      tool('in-query', arg('query')),
      tool('in-header', arg('header')),
      tool('in-body', { method: 'POST', ...arg('body') }),
      tool('in-form-data', { method: 'POST', ...arg('form-data') }),
      tool('in-cookie', { headers: { Cookie: 'c={{.Args.a}}' }, ...arg('query') }),
      tool('in-template', {
        method: 'POST',
        requestBody: '{"a": "{{.Args.a}}", "b": {{.Args.a}}}',
        ...arg('body'),
      }),
      tool('says', { endpoint: says }),
      tool('says-shaped', {
        endpoint: says,
        responseBody: '{{range .Response.Data}}{{.}}{{end}}{{toJSON .Response.Data}}',
      }),
      tool('says-output', {
        endpoint: says,
        outputSchema: {
          type: 'object',
          properties: { a: { type: 'array', uniqueItems: true, items: { type: 'string' } } },
        },
      }),
    ],
  }
}
