import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Tool } from '../../src/config/model.ts'
import { arg, callable, compileAll, makeTool, upstream } from './harness.ts'

const target = await upstream()

/** Types of the IANA registry, each of its top-level types and structured suffixes, and those that APIs use beside it. */
const TYPES = {
  json:
    'application/json application/problem+json application/vnd.api+json application/json-patch+json application/geo+json ' +
    'application/csp-report application/x-amz-json-1.1 text/json model/gltf+json image/x+json message/imdn+json',
  lines:
    'application/x-ndjson application/ndjson application/jsonl application/x-jsonlines application/json-seq text/jsonl ' +
    'application/geo+json-seq application/vnd.elasticsearch+x-ndjson application/stream+json text/plain',
  xml:
    'text/xml application/xml application/soap+xml application/atom+xml application/xhtml+xml image/svg+xml ' +
    'model/x3d+xml message/imdn+xml',
  form: 'application/x-www-form-urlencoded',
  refused:
    'text/csv text/html text/markdown text/css text/javascript text/calendar text/vcard text/rtf text/turtle text/uri-list ' +
    'text/tab-separated-values text/event-stream text/x-anything text/xml-external-parsed-entity application/xml-dtd ' +
    'application/graphql application/yaml application/openapi+yaml application/toml application/sql application/cbor ' +
    'application/senml+cbor application/cbor-seq application/senml-etch+cbor application/jwt application/secevent+jwt ' +
    'application/jose application/sparql-query application/n-triples application/javascript application/octet-stream ' +
    'application/pdf application/zip application/epub+zip application/gzip application/x+gzip application/x+zstd ' +
    'application/pkcs8 application/x+ber application/x+der application/x+cose application/x+wbxml application/x+fastinfoset ' +
    'application/x+tlv application/x+sqlite3 application/http application/ld-json application/json5 application/xmlish ' +
    'application/x-protobuf application/vnd.ms-excel message/rfc822 message/http multipart/form-data multipart/mixed ' +
    'multipart/related image/png audio/mpeg video/mp4 font/woff2 model/stl haptics/ivs example/x nonsense',
}

const EVIL = [
  '"}\n{"delete":{"_index":"users"}}\n{"a":"',
  '\\',
  '\\"',
  '{"a":\n1,\r\n"b": 2}',
  '</name><role>admin</role>',
  '" role="admin',
  "' role='admin",
  '-->]]>?>&lt;&#60;',
  'x&role=admin',
  '\u2028\u0085\ud800é\t\r\n',
]

const post = (type: string, requestBody: string, more: Partial<Tool> = {}) => ({
  method: 'POST',
  endpoint: target.origin,
  headers: { 'Content-Type': type },
  args: [arg('v', 'body')],
  requestBody,
  ...more,
})

/** The bodies that are sent for values: all of them in the first type of a list, the first one in the others. */
async function bodies(types: string, template: string, judge: (body: string, value: string) => void) {
  for (const [i, type] of types.split(' ').entries()) {
    const call = callable(post(type, template))
    for (const v of i === 0 ? EVIL : EVIL.slice(0, 1)) {
      await call({ v })
      judge(target.last().body.toString(), v)
    }
  }
}

const codes = (tool: Parameters<typeof makeTool>[0]) =>
  compileAll([makeTool(tool)]).problems.map(({ code, severity }) => `${severity} ${code}`)

/** What an XML parser makes of the text of an attribute or element. */
function fromXml(text: string): string {
  const known: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
  return text.replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) =>
    code ? String.fromCharCode(Number(code)) : known[name]!,
  )
}

describe('a value of a caller cannot leave its place in a body of', () => {
  test('JSON lines', () =>
    bodies(TYPES.lines, '{"a": "{{.Args.v}}"}\n{"b": {{.Args.v}}}\n', (body, v) => {
      const lines = body.split(/[\r\n\u001e]+/)
      assert.equal(lines.length, 3)
      assert.deepEqual(JSON.parse(lines[0]!), { a: v })
      assert.deepEqual(JSON.parse(lines[1]!), { b: v.startsWith('{') ? JSON.parse(v) : v })
    }))

  test('XML', () => {
    const template = `<?xml version="1.0"?><!-- x --><!DOCTYPE a [<!ENTITY e ">">]>
<a b="{{.Args.v}}" c='{{.Args.v}}'>{{.Args.v}}<![CDATA[ ]] > ]]>{{html .Args.v}}</a>`
    return bodies(TYPES.xml, template, (body, v) => {
      const pattern = /<a b="([^"<]*)" c='([^'<]*)'>([^<]*)<!\[CDATA\[ \]\] > \]\]>([^<]*)<\/a>$/
      const [, ...values] = pattern.exec(body)!
      assert.deepEqual(values.map(fromXml), Array(4).fill(v.replace('\ud800', '\ufffd')))
    })
  })
})

describe('a value of a caller without `raw` is refused in a body of', () => {
  test('every other type', async () => {
    for (const type of ['text/plain', ...TYPES.refused.split(' ')])
      for (const template of ['{{.Args.v}}', 'name: {{upper .Args.v | html}}'])
        assert.deepEqual(codes(post(type, template)), ['error template-unescaped'], type)
    await callable(post('text/csv; charset=utf-8', 'a: {{raw .Args.v}}'))({ v: 'x"<\n' })
    assert.equal(target.last().body.toString(), 'a: x"<\n')
  })

  test('a type that a caller decides', () => {
    const args = [arg('v', 'body'), arg('Content-Type', 'header')]
    assert.deepEqual(codes(post('{{.Args.v}}', 'a: {{.Args.v}}')), ['error template-unescaped'])
    assert.deepEqual(codes(post('text/csv', '{{.Args.v}}', { args })), ['error template-unescaped'])
    assert.deepEqual(codes(post('text/csv', '{"a": "{{.Args.v}}"}', { args })), [])
  })
})

test('a value stands in text or in an attribute of XML, and nowhere else', async () => {
  const xml = (template: string) => codes(post('text/xml', template))
  for (const template of [
    '<{{.Args.v}}/>',
    '<a {{.Args.v}}/>',
    '<a b={{.Args.v}}/>',
    '<!--{{.Args.v}}-->',
    '<!-- - -- {{.Args.v}} -->',
    '<![CDATA[ ]] {{.Args.v}}]]>',
    '<?p {{.Args.v}}?>',
    '<!DOCTYPE a {{.Args.v}}>',
    '<!DOCTYPE a [<!ENTITY e "{{.Args.v}}">]><a/>',
    '<a>&{{.Args.v}};</a>',
    '<a>&#x{{.Args.v}};</a>',
    '<a b="&{{.Args.v}};"/>',
    '<a b="{{.Args.v}}',
    '<a{{if .Args.v}}>{{end}}',
  ])
    assert.deepEqual(xml(template), ['error template-context'], template)
  for (const template of [
    '<a b="<!--">{{.Args.v}}</a>',
    '<a>AT&amp;T {{.Args.v}}</a>',
    '<{{env "X" "a"}}/>',
    '<!--{{raw .Args.v}}-->',
    '<!DOCTYPE a><a>{{.Args.v}}</a>',
  ])
    assert.deepEqual(xml(template), [], template)
  const before = target.received.length
  const result = await callable(post('text/xml', '<a>{{.Args.v}}</a>'))({ v: 'a\u0000' })
  assert.match(JSON.stringify(result), /a character that XML does not have/)
  assert.equal(target.received.length, before)
})
