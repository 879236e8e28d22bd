import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { compile, templateMemo } from '../../src/template/index.ts'

const SOURCES = [' {{.Args.id}}\n', '{{.Args.id', '{{env "NAME"}}', 'plain', '{"a": {{.Args.id}}}']

describe('a memo of templates', () => {
  const env = { NAME: 'a' }
  const options = { env, roots: { Args: true } } as const

  test('compiles as it is done without, for every place', () => {
    const memo = templateMemo(env)
    for (const place of ['go', 'text', 'json', 'url', 'header', 'form', 'auto'] as const)
      for (const source of SOURCES)
        for (const made of [1, 2].map(() => memo.compile(source, { ...options, place }))) {
          const afresh = compile(source, { ...options, place })
          assert.deepEqual(made.errors, afresh.errors)
          const [first, second] = [made, afresh].map(({ template }) => template?.render({ Args: { id: 1 } }))
          assert.equal(first, second)
        }
  })

  test('compiles a text once, until it is cleared, and never for another environment', () => {
    const memo = templateMemo(env)
    const made = (other = env) => memo.compile('{{env "NAME"}}', { ...options, env: other, place: 'text' })
    const first = made()
    assert.equal(made(), first)
    assert.equal(made({ NAME: 'b' }).template?.constant, 'b')
    memo.clear()
    assert.notEqual(made(), first)
  })

  test('a mistake is told wherever it stands', () => {
    const tool = (name: string, arg: string) =>
      `  - {name: ${name}, method: GET, endpoint: "http://a/{{.Args.id}}", args: [{name: ${arg}, position: path, type: string, required: true, description: d}]}\n`
    const tools = tool('a', 'id') + tool('b', 'other') + tool('c', 'other') + tool('d', 'id')
    const read = readConfiguration({ file: 'a.yaml', text: `name: a\ntools:\n${tools}` }, env)
    const memo = templateMemo(env)
    const [first, second] = [1, 2].map(() => lintTemplates(read, env, memo))
    assert.deepEqual(first, second)
    assert.deepEqual([...new Set(first!.map(({ range }) => range!.start.line))], [4, 5])
  })

  test('what reads `.Config` is judged for each that it may hold', () => {
    const memo = templateMemo(env)
    const judge = (config: string, body: string) => {
      const text = `name: a\nservers: [{name: s, config: {${config}}}]\ntools:\n  - {name: t, method: POST, endpoint: http://a, requestBody: '${body}'}\n`
      return lintTemplates(readConfiguration({ file: 'a.yaml', text }, env), env, memo).map(
        ({ code }) => code,
      )
    }
    const direct = '{"a": "{{.Config.b}}"}'
    assert.deepEqual(judge('b: c', direct), [])
    assert.deepEqual(judge('d: c', direct), ['template-config'])
  })
})
