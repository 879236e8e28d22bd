import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { run, temporaryFolder } from '../support/process.ts'

const faulty = `# kept
name: user
routers: [{server: user, prefix: /user}]
servers: [{name: user}]
tools:
  - name: a
    endpoint: "http://localhost/{{.Arg.id}}/{{.Args.id == 1}}"
    headers: {Authorization: "{{.Request.Headers.authorization}}"}
    args: [{name: id, position: path, required: true}]
`
const mended = faulty.replace('.Arg.id', '.Args.id').replace('authorization}}', 'Authorization}}')

describe('lint-templates', () => {
  test('the examples are sound', async (t) => {
    const { code, stdout } = await run(t, ['lint-templates', 'examples/configs'])
    assert.equal(stdout, '3 files, nothing wrong\n')
    assert.equal(code, 0)
  })
  test('prints what is wrong and exits 1; every format says the same', async (t) => {
    const file = join(temporaryFolder(t), 'a.yaml')
    writeFileSync(file, faulty)
    const text = await run(t, ['lint-templates', file])
    assert.equal(text.code, 1)
    assert.match(text.stdout, /a\.yaml:7:36: error: there is no `\.Arg` \[template-root\]/)
    assert.match(text.stdout, /2 errors, 1 warning in 1 file/)
    const json = await run(t, ['lint-templates', '--format', 'json', file])
    const found = JSON.parse(json.stdout).findings.map(({ code }: { code: string }) => code)
    assert.deepEqual(found, ['template-root', 'template-operator', 'template-header-case'])
    const sarif = await run(t, ['lint-templates', '--format', 'sarif', file])
    assert.deepEqual(
      JSON.parse(sarif.stdout).runs[0].results.map(({ ruleId }: { ruleId: string }) => ruleId),
      found,
    )
    const github = await run(t, ['lint-templates', '--format', 'github', file])
    assert.equal(github.stdout.split('\n').filter((line) => /^::(error|warning) file=/.test(line)).length, 3)
    assert.deepEqual([json.code, sarif.code, github.code], [1, 1, 1])
  })
  test('a file that cannot be read is told too', async (t) => {
    const { code, stdout } = await run(t, ['lint-templates', '-'], { input: 'name: [' })
    assert.equal(code, 1)
    assert.match(stdout, /<stdin>:1:\d+: error: .* \[yaml-syntax\]/)
  })
  test('a template without quotes, which is a map to YAML, is told', async (t) => {
    const tool = (rest: string) =>
      `name: u\nrouters: [{server: u, prefix: /u}]\nservers: [{name: u, config: {a: b}}]\ntools:\n  - name: a\n    endpoint: http://localhost/\n    method: POST\n${rest}`
    const told = async (rest: string) =>
      (await run(t, ['lint-templates', '-'], { input: tool(rest) })).stdout.split('\n')[0]
    assert.match(
      (await told('    headers:\n      A: {{.Config.a}}\n'))!,
      /^<stdin>:9:10: error: a template without quotes \[yaml-syntax\]$/,
    )
    const body = /^<stdin>:8:5: error: `requestBody` must be a string; got an object \[wrong-type\]$/
    assert.match((await told('    requestBody: {"a": "{{.Config.a}}"}\n'))!, body)
    assert.match((await told('    requestBody:\n      a: 1\n\n      b: "{{.Config.a}}"\n'))!, body)
    assert.equal(await told('    timeout: [1]\n    requestBody: "{{.Config.a}}"\n'), '1 file, nothing wrong')
  })
  test('a file of settings among configurations is no matter of templates', async (t) => {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'plantgw.yaml'), 'port: 5235\nprt: 1\nlogger: {level: loud}\n')
    writeFileSync(join(folder, 'a.yaml'), mended.replace(' == 1', ''))
    const { code, stdout } = await run(t, ['lint-templates', folder])
    assert.equal(stdout, '1 file, nothing wrong\n')
    assert.equal(code, 0)
  })
  test('wrong use exits 2', async (t) => {
    assert.equal((await run(t, ['lint-templates'])).code, 2)
    assert.equal((await run(t, ['lint-templates', '--format', 'xml', 'a.yaml'])).code, 2)
  })
  test('--fix changes only what leaves no doubt, through a link, and keeps mode and byte order mark', async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'real', 'a.yaml')
    mkdirSync(join(folder, 'real'))
    writeFileSync(file, `\ufeff${faulty}`)
    chmodSync(file, 0o640)
    symlinkSync(file, join(folder, 'a.yaml'))
    const { code, stdout } = await run(t, ['lint-templates', '--fix', join(folder, 'a.yaml')])
    assert.equal(code, 1)
    assert.match(stdout, /a\.yaml:8:\d+: fixed: `\.authorization` → `\.Authorization`\n/)
    assert.match(stdout, /a\.yaml:7:36: fixed: `\.Arg` → `\.Args`\n/)
    assert.match(stdout, /1 error in 1 file/)
    assert.equal(readFileSync(file, 'utf8'), `\ufeff${mended}`)
    assert.equal(statSync(file).mode & 0o777, 0o640)
  })
  test('--fix of standard input writes the mended text to standard output', async (t) => {
    const { code, stdout, stderr } = await run(t, ['lint-templates', '--fix', '-'], { input: faulty })
    assert.equal(stdout, mended)
    assert.match(stderr, /<stdin>:7:36: fixed/)
    assert.match(stderr, /template-operator/)
    assert.equal(code, 1)
  })
})

describe('validate', () => {
  test('finds what the linter finds, once', async (t) => {
    const { code, stdout } = await run(t, ['validate', '--skip', 'practice', '--format', 'json', '-'], {
      input: faulty,
    })
    const found = JSON.parse(stdout).findings.map(({ code }: { code: string }) => code)
    assert.deepEqual(found, ['template-root', 'template-operator', 'template-header-case'])
    assert.equal(code, 1)
  })
  test('has the formats of the linter', async (t) => {
    const { code, stdout } = await run(t, ['validate', '--format', 'sarif', 'examples/configs'])
    assert.deepEqual(JSON.parse(stdout).runs[0].results, [])
    assert.equal(code, 0)
  })
})
