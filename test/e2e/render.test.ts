import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'
import { HttpClient } from '../../src/net/index.ts'
import { compileTools } from '../../src/tools/index.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { listen } from '../tools/harness.ts'

const configuration = (base: string) => `name: user
routers: [{server: user, prefix: /user}]
servers:
  - name: user
    config: {base: "${base}", apiKey: config-secret-1, greeting: hello}
tools:
  - name: create
    method: POST
    endpoint: '{{.Config.base}}/users/{{.Args.id}}?key={{urlquery .Config.apiKey}}&sent={{env "USER_TOKEN"}}'
    headers:
      Authorization: "{{.Request.Headers.Authorization}}"
      X-Api-Key: literal-secret
      X-Greeting: "{{.Config.greeting}} {{.Config.apiKey}}"
    args:
      - {name: id, position: path, required: true}
      - {name: n, position: body, type: integer, required: true}
      - {name: tags, position: body, type: array, default: "[]"}
      - {name: user, position: body, type: object}
      - {name: q, position: query, type: boolean}
    requestBody: |-
      {"id": "{{.Args.id}}", "n": {{.Args.n}}, "tags": {{.Args.tags}}, "user": {{toJSON .Args.user}}, "hash": "{{b64enc .Config.apiKey}}"}
    responseBody: "Made {{.Response.Data.number}} for {{.Args.id}}"
  - name: upload
    method: POST
    endpoint: "{{.Config.base}}/files"
    args: [{name: file, position: form-data, required: true}, {name: title, position: form-data}]
`
const env = { USER_TOKEN: 'env-secret-2' }
const given = ['id=a?"b"', 'n=9223372036854775807', 'tags=["x"]', 'user={"name": "ü"}', 'q=true']

describe('render', () => {
  test('shows the request with secrets masked', async (t) => {
    const file = join(temporaryFolder(t), 'a.yaml')
    writeFileSync(file, configuration('http://localhost:1'))
    const { code, stdout } = await run(
      t,
      ['render', file, 'create', ...given, '--header', 'Authorization: Bearer caller-secret-3'],
      { env },
    )
    assert.equal(code, 0)
    const [head, body] = stdout.split('\n\n') as [string, string]
    const lines = head.split('\n')
    assert.equal(lines[0], 'POST http://localhost:1/users/a%3F%22b%22?key=***&sent=***&q=true')
    assert.ok(lines.includes('Authorization: Bearer ***'))
    assert.ok(lines.includes('X-Api-Key: ***'))
    assert.ok(lines.includes('X-Greeting: ***'))
    assert.equal(
      body,
      '{"id": "a?\\"b\\"", "n": 9223372036854775807, "tags": ["x"], "user": {"name":"ü"}, "hash": "***"}\n',
    )
    for (const secret of ['config-secret-1', 'env-secret-2', 'caller-secret-3', 'literal-secret'])
      assert.ok(!stdout.includes(secret), secret)
  })

  test('masks outside of templates the same secrets as answers of calls, and shorter ones', async (t) => {
    const file = join(temporaryFolder(t), 'pin')
    writeFileSync(file, 'o')
    const input = `name: user
routers: [{server: user, prefix: /user}]
servers: [{name: user, baseUrl: "http://localhost:1/\${APP_PWD}"}]
tools:
  - name: a
    method: POST
    endpoint: "/\${LONG_TOKEN}?pin=\${file:${file}}"
    headers: {X-Pin: "\${file:${file}}"}
    requestBody: '{"kind": "\${WORD_KEY}", "code": "\${APP_PWD}"}'
    responseBody: "code \${APP_PWD}"
`
    const env = { LONG_TOKEN: 'tok-12345', WORD_KEY: 'json', APP_PWD: 'pos' }
    const { stdout } = await run(t, ['render', '-', 'a'], { env, input })
    assert.match(stdout, /^POST http:\/\/localhost:1\/\*\*\*\/\*\*\*\?pin=\*\*\*\n/)
    assert.match(stdout, /^X-Pin: \*\*\*$/m)
    assert.match(stdout, /^Content-Type: application\/json\n\n\{"kind": "json", "code": "\*\*\*"\}$/m)
    writeFileSync(file, '{}')
    const answer = await run(t, ['render', '-', 'a', '--response', file], { env, input })
    assert.equal(answer.stdout, 'code ***\n')
    const port = await run(t, ['render', '-', 'a'], {
      env: { ...env, PORT_TOKEN: '81' },
      input: input.replace('localhost:1', 'localhost:${PORT_TOKEN}'),
    })
    assert.match(port.stdout, /^POST \*\*\*\/\*\*\*\n/)
  })

  test('what functions, variables and blocks make of a secret is masked; a missing one is not shown as one', async (t) => {
    const input = `name: user
routers: [{server: user, prefix: /user}]
servers: [{name: user, config: {base: "http://localhost:1", token: tok-12345, apikey: ab, pw: hunter2-long, none_token: ""}}]
tools:
  - name: a
    method: POST
    endpoint: '{{.Config.base}}/{{upper .Config.token}}/{{.Config.apikey}}/{{.Args.id}}'
    headers:
      X-A: "{{upper .Config.token}}"
      X-B: "{{.Config.apikey}}"
      X-C: 'Basic {{printf "u:%s" .Config.token | b64enc}}'
      X-D: '{{index .Config "pw"}}'
      X-E: 'id {{.Args.id}}'
      Authorization: "Bearer {{.Args.t}}"
    args: [{name: id, position: path, required: true}, {name: t, position: query}]
    requestBody: |-
      {{define "d"}}"{{.}}"{{end}}{{$t := sha256sum .Config.token}}{"a": "{{$t}}", "b": {{with .Config.token}}"{{.}}"{{end}},
       "c": "{{range $k, $v := .Config}}{{$v}} {{end}}", "d": {{template "d" (lower .Config.pw)}}, "e": "{{.Args.id}}",
       "f": "{{.Config.none_token}}", "g": "{{- b64enc .Config.pw -}}", "h": "{{len .Args.id}}",
       "i": "{{$m := dict}}{{$m = set $m "x" .Config.token}}{{$n := $m}}{{$n.x}}", "j": {{.Config.pw | toJSON}}}
    responseBody: "{{.Response.Data.x}} {{sha256sum .Config.token}}"
`
    const { stdout, code } = await run(t, ['render', '-', 'a', 'id=abcd'], { input })
    assert.equal(code, 0)
    const [head, body] = stdout.split('\n\n') as [string, string]
    assert.match(head, /^POST http:\/\/localhost:1\/\*\*\*\/\*\*\*\/abcd\n/)
    for (const line of ['X-A: ***', 'X-B: ***', 'X-C: Basic ***', 'X-D: ***', 'X-E: id abcd'])
      assert.ok(head.split('\n').includes(line), `${line}\n${head}`)
    assert.doesNotMatch(head, /Bearer \*\*\*/)
    assert.deepEqual(JSON.parse(body), {
      a: '***',
      b: '***',
      c: '*** ***  *** *** ',
      d: '***',
      e: 'abcd',
      f: '',
      g: '***',
      h: '4',
      i: '***',
      j: '***',
    })
    const file = join(temporaryFolder(t), 'answer.json')
    writeFileSync(file, '{"x": 1}')
    const answer = await run(t, ['render', '-', 'a', 'id=abcd', '--response', file], { input })
    assert.deepEqual([answer.code, answer.stdout], [0, '1 ***\n'])
  })

  test('invents nothing for a variable that is not set', async (t) => {
    const input = `name: a
routers: [{server: a, prefix: /a}]
servers: [{name: a, config: {base: "\${PLANT_BASE}", token: "x \${PLANT_TOKEN}"}}]
tools:
  - {name: config, description: d, method: GET, endpoint: "{{.Config.base}}/a"}
  - {name: part, description: d, method: GET, endpoint: "http://localhost:1", headers: {X-A: "{{.Config.token}}"}}
  - {name: whole, description: d, method: GET, endpoint: "\${PLANT_BASE}"}
  - {name: header, description: d, method: GET, endpoint: "http://localhost:1", headers: {X-A: "a \${PLANT_TOKEN}"}}
  - {name: env, description: d, method: GET, endpoint: '{{env "PLANT_BASE"}}/x'}
  - {name: missing, description: d, method: GET}
  - {name: other, description: d, method: GET, endpoint: "http://localhost:1/x"}
`
    const shown = (tool: string, env = {}) => run(t, ['render', '-', tool], { input, env })
    for (const tool of ['config', 'part', 'whole', 'header', 'env']) {
      const { code, stdout, stderr } = await shown(tool)
      assert.deepEqual([code, stdout], [1, ''], tool)
      assert.match(stderr, /the environment variable PLANT_\w+ is not set/, tool)
    }
    const missing = await shown('missing')
    assert.deepEqual([missing.code, missing.stdout], [1, ''])
    assert.match(missing.stderr, /endpoint/)
    assert.match((await shown('other')).stdout, /^GET http:\/\/localhost:1\/x\n/)
    const env = { PLANT_BASE: 'http://localhost:2', PLANT_TOKEN: 'y' }
    assert.match((await shown('config', env)).stdout, /^GET http:\/\/localhost:2\/a\n/)
  })

  test('is, with --show-secrets, exactly what a call sends', async (t) => {
    let received: { line: string; headers: string[]; body: string } | undefined
    const origin = await listen(
      createServer((request, response) => {
        const chunks: Buffer[] = []
        request.on('data', (chunk) => chunks.push(chunk))
        request.on('end', () => {
          const { method, url, rawHeaders } = request
          received = {
            line: `${method} ${origin}${url}`,
            headers: rawHeaders,
            body: Buffer.concat(chunks).toString(),
          }
          response.setHeader('content-type', 'application/json').end('{"number": 7}')
        })
      }),
    )
    const text = configuration(origin)
    const flags = ['--header', 'Authorization: Bearer x', '--show-secrets', '--format', 'json']
    const { stdout } = await run(t, ['render', '-', 'create', ...given, ...flags], { env, input: text })
    const shown = JSON.parse(stdout)

    const read = readConfiguration({ file: 'a.yaml', text }, env).configuration!
    const http = new HttpClient()
    t.after(() => http.drain())
    const { tools } = compileTools(read, read.servers[0]!, { env, limits: DEFAULT_LIMITS, http })
    const args = { id: 'a?"b"', n: 9223372036854775807n, tags: ['x'], user: { name: 'ü' }, q: true }
    const signal = new AbortController().signal
    const outcome = await tools
      .get('create')!
      .call(args, { headers: { authorization: 'Bearer x' }, body: null, signal })
    assert.deepEqual(outcome.result.content, [{ type: 'text', text: 'Made 7 for a?"b"' }])
    assert.equal(`${shown.method} ${shown.url}`, received!.line)
    assert.equal(shown.body, received!.body)
    const pairs = received!.headers
      .map((one, i, all) => (i % 2 === 0 ? `${one}: ${all[i + 1]}` : ''))
      .filter(Boolean)
    for (const [name, value] of shown.headers) assert.ok(pairs.includes(`${name}: ${value}`), name)
    // What is left frames the message: Host, Connection, Content-Length.
    assert.equal(pairs.length, shown.headers.length + 3)
  })

  test('--response shows what the client would get', async (t) => {
    const folder = temporaryFolder(t)
    const answer = join(folder, 'answer.json')
    writeFileSync(answer, '{"number": 12345678901234567890}')
    const args = ['render', '-', 'create', 'id=a', 'n=1', '--response', answer]
    const input = configuration('http://localhost:1')
    const text = await run(t, args, { env, input })
    assert.deepEqual([text.code, text.stdout], [0, 'Made 12345678901234567890 for a\n'])
    const json = await run(t, [...args, '--format', 'json'], { env, input })
    assert.deepEqual(JSON.parse(json.stdout), {
      content: [{ type: 'text', text: 'Made 12345678901234567890 for a' }],
    })
    writeFileSync(answer, 'not JSON')
    const broken = await run(t, args, { env, input })
    assert.equal(broken.code, 1)
    assert.match(broken.stdout, /^isError: true\n[\s\S]*not JSON/)
  })

  test('--response shows how much a shaped response saves', async (t) => {
    const answer = join(temporaryFolder(t), 'answer.json')
    writeFileSync(answer, JSON.stringify([1, 2].map((id) => ({ id, avatar_url: 'x'.repeat(200) }))))
    const input = `name: a
tools:
  - name: list
    description: Lists
    endpoint: http://localhost:1/
    response: {drop: ["**.avatar_url"], format: csv}
`
    const { code, stdout, stderr } = await run(t, ['render', '-', 'list', '--response', answer], {
      env,
      input,
    })
    assert.deepEqual([code, stdout], [0, 'id\n1\n2\n'])
    assert.equal(
      stderr,
      'response: 451 characters (about 113 tokens)\nresult:   6 characters (about 2 tokens)\n',
    )
    // An error is not shaped.
    const failing = `${input}    responseBody: '{{ fail "no" }}'\n`.replace(', format: csv', '')
    const failed = await run(t, ['render', '-', 'list', '--response', answer], { env, input: failing })
    assert.deepEqual([failed.code, failed.stderr], [1, ''])
  })

  test('key=@file reads a file, and a form gets it as a file', async (t) => {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'note.txt'), 'words of a note')
    writeFileSync(join(folder, 'tags.json'), '["from", "file"]')
    const input = configuration('http://localhost:1')
    const form = await run(t, ['render', '-', 'upload', `file=@${join(folder, 'note.txt')}`, 'title=home'], {
      env,
      input,
    })
    assert.match(form.stdout, /name="file"; filename="note\.txt"\r?\n[\s\S]*words of a note/)
    assert.match(form.stdout, /boundary=(\S+)\r?\n[\s\S]*\n--\1--/)
    const args = ['render', '-', 'create', 'id=1', 'n=1', `tags=@${join(folder, 'tags.json')}`]
    assert.match((await run(t, args, { env, input })).stdout, /"tags": \["from","file"\]/)
  })

  test('says why nothing would be sent', async (t) => {
    const input = configuration('http://localhost:1')
    const unset = await run(t, ['render', '-', 'create', 'id=1', 'n=1'], { input })
    assert.equal(unset.code, 1)
    assert.match(unset.stderr, /USER_TOKEN is not set \[env-unset\]/)
  })

  test('arguments are read by a schema of alternatives, and `:=` is JSON whatever it says', async (t) => {
    const input = `name: user
tools:
  - name: put
    method: PUT
    endpoint: http://localhost:1/
    args: [{name: body, position: body, type: object, required: true}, {name: tag, position: body}]
    inputSchema:
      type: object
      properties:
        body: {anyOf: [{type: object}, {type: array, items: {}}]}
        tag: {type: [string, "null"]}
`
    const sent = async (...args: string[]) => {
      const { stdout, stderr } = await run(t, ['render', '-', 'put', ...args], { input })
      return JSON.parse(stdout.split('\n\n')[1] ?? stderr)
    }
    assert.deepEqual(await sent('body={"a":1}', 'tag=null'), { body: { a: 1 }, tag: 'null' })
    assert.deepEqual(await sent('body=[1]', 'tag:=null'), { body: [1], tag: null })
  })

  test('one JSON object is all arguments, and the items of a list may be given one by one', async (t) => {
    const input = `name: user
tools:
  - name: put
    method: PUT
    endpoint: http://localhost:1/
    args: [{name: tags, position: body, type: array, items: {type: string}}, {name: ids, position: body, type: array, items: {type: integer}}]
`
    const sent = async (...args: string[]) => {
      const { stdout, stderr } = await run(t, ['render', '-', 'put', ...args], { input })
      return stdout ? JSON.parse(stdout.split('\n\n')[1]!) : stderr
    }
    assert.deepEqual(await sent('{"tags": ["a=b"], "ids": [1]}'), { tags: ['a=b'], ids: [1] })
    assert.deepEqual(await sent('tags=open', 'ids=1', 'tags=7', 'ids=[2,3]'), {
      tags: ['open', '7'],
      ids: [1, 2, 3],
    })
    assert.match(await sent('ids=x'), /^plantgw: ids must be an integer, got "x"$/m)
    assert.match(await sent('tags:="a"', 'tags:="b"'), /tags is given twice, and is not a list/)
  })

  test('a value that would leave its path is refused as a call is', async (t) => {
    const input = configuration('http://localhost:1')
    for (const id of ['../../admin', '%2e%2e%2fadmin', '..;/admin']) {
      const { code, stdout, stderr } = await run(t, ['render', '-', 'create', `id=${id}`, 'n=1'], {
        env,
        input,
      })
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(
        stderr,
        /^plantgw: <stdin>:9:\d+: The endpoint .*: a path segment would be \. or \.\., .*, at `\{\{\.Args\.id\}\}`\.$/m,
      )
    }
  })

  test('wrong use exits 2', async (t) => {
    const servers = join(temporaryFolder(t), 'files.yaml')
    writeFileSync(
      servers,
      'name: files\nrouters: [{server: f, prefix: /f}]\nmcpServers: [{name: f, type: stdio, command: x}]\n',
    )
    const input = configuration('http://localhost:1')
    for (const [args, why] of [
      [['-', 'creat'], /unknown tool creat: did you mean create\?/],
      [['-', 'create', 'id'], /key=value/],
      [
        [servers, 'list_directory'],
        /list_directory is not an HTTP tool: render shows requests of HTTP tools, and .* only has MCP/,
      ],
      [['-', 'create', 'n=abc'], /^plantgw: n must be an integer, got "abc"\n$/],
      [
        ['-', 'create', 'id=@/no/such/file'],
        /^plantgw: id: cannot read the file \/no\/such\/file: no such file \(/,
      ],
      [
        ['-', 'create', 'id=1', 'n=1', '--response', '/no/such/file'],
        /^plantgw: cannot read the response \/no\/such\/file: no such file$/m,
      ],
      [['-', 'create', 'id=1'], /`n` is missing/],
      [['-', 'create', 'id=1', 'n=1', 'tag=[]'], /did you mean `tags`/],
      [['no-such.yaml', 'create'], /there is no such file or folder/],
      [['', 'create'], /"": error: the path is empty/],
      [['/no-prefix', 'create'], /^plantgw: there is no file \/no-prefix, and no prefix \/no-prefix$/m],
      [['-', 'create', '--header', 'x'], /name:value/],
    ] as const) {
      const { code, stderr } = await run(t, ['render', ...args], { env, input })
      assert.match(stderr, why)
      assert.equal(code, 2)
    }
  })
})
