import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { FORMATS } from '../../src/cli/validate/report.ts'
import { run, temporaryFolder } from '../support/process.ts'

/** An error, a warning of names, and a template without a place. */
const faulty = `name: user
routers: [{server: user, prefix: /user}]
servers: [{name: user}, {name: other}]
tools:
  - name: a
    description: A tool
    endpoint: "http://localhost/{{.Arg.id}}"
    args: [{name: id, position: path, required: true, description: Its id}]
`

function write(t: TestContext, files: Record<string, string>): string {
  const folder = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

async function codes(t: TestContext, cwd: string, ...args: string[]) {
  const { stdout, stderr, code } = await run(t, ['validate', '--format', 'json', ...args], { cwd })
  const findings: { code: string; severity: string }[] = stdout ? JSON.parse(stdout).findings : []
  return { code, stderr, told: findings.map((one) => `${one.severity} ${one.code}`) }
}

describe('which checks are told', () => {
  test('without paths the settings are checked, and the folder that they name', async (t) => {
    const cwd = write(t, {
      'sound.yaml': 'port: 5300\n',
      'wrong.yaml': 'port: 70000\n',
      'stored.yaml': 'storage: {type: directory, path: stored}\n',
      'stored/user.yaml': faulty,
      'configs/user.yaml': 'name: user\nrouters: []\n',
    })
    const sound = await run(t, ['validate', '--settings', 'sound.yaml'], { cwd })
    assert.equal(sound.code, 0)
    assert.match(sound.stdout, /^configs\/user\.yaml:1:7: warning/)
    assert.deepEqual((await codes(t, cwd, '--settings', 'wrong.yaml')).told, ['error invalid-value'])
    const stored = await codes(t, cwd, '--settings', 'stored.yaml')
    assert.deepEqual(stored.told, ['warning unrouted-server', 'error template-root'])
    const { stdout } = await run(t, ['validate', '--settings', 'stored.yaml'], { cwd })
    assert.match(stdout, /^stored\/user\.yaml:/)
    for (const command of ['lint-templates', 'pin', 'check-endpoints']) {
      const { code, stderr } = await run(t, [command, '--settings', 'stored.yaml'], { cwd })
      assert.match(
        `${code} ${stderr}`,
        command === 'lint-templates' ? /^1 $/ : /^[12] stored\/user\.yaml:/,
        command,
      )
      const none = await run(t, [command], { cwd: temporaryFolder(t) })
      assert.deepEqual([none.code, /pass files or folders/.test(none.stderr)], [2, true], command)
    }
    const usual = await run(t, ['validate'], { cwd })
    assert.deepEqual([usual.code, usual.stdout], [0, sound.stdout])
    const nothing = await codes(t, temporaryFolder(t))
    assert.deepEqual([nothing.code, /--settings/.test(nothing.stderr)], [2, true])
  })
  test('--only and --skip take checks and codes', async (t) => {
    const cwd = write(t, { 'user.yaml': faulty })
    const all = await codes(t, cwd, 'user.yaml')
    assert.deepEqual(all.told, ['warning unrouted-server', 'error template-root'])
    assert.equal(all.code, 1)
    const only = await codes(t, cwd, 'user.yaml', '--only', 'references,env')
    assert.deepEqual([only.told, only.code], [['warning unrouted-server'], 0])
    const skip = await codes(t, cwd, 'user.yaml', '--skip', 'unrouted-server', '--skip', 'template-root')
    assert.deepEqual([skip.told, skip.code], [[], 0])
    const wrong = await codes(t, cwd, 'user.yaml', '--only', 'refrences')
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /unknown check or code "refrences": did you mean references\?/)
  })
  test('a file that cannot be looked into never passes for sound', async (t) => {
    const cwd = write(t, { 'a.yaml': 'name: [', 'b.yaml': 'true' })
    const only = await codes(t, cwd, 'a.yaml', 'b.yaml', 'c.yaml', '--only', 'templates')
    assert.deepEqual(only.told, ['error yaml-syntax', 'error wrong-type', 'error unreadable-file'])
    assert.equal(only.code, 2)
  })
  test('severities of plantgw.lint.yaml: here, beside the first path, or the one that is named', async (t) => {
    const lint = 'severity: {unrouted-server: error, templates: info}\n'
    const cwd = write(t, {
      'configs/user.yaml': faulty,
      'plantgw.lint.yaml': lint,
      'other/plantgw.lint.yaml': 'severity: {references: off}\n',
      'other/user.yaml': faulty,
      'none/user.yaml': faulty,
    })
    const set = ['error unrouted-server', 'info template-root']
    assert.deepEqual((await codes(t, cwd, 'configs')).told, set)
    const beside = await codes(t, join(cwd, 'none'), '../configs/')
    assert.deepEqual(beside.told, set)
    const within = await codes(t, join(cwd, 'none'), '../other')
    assert.deepEqual(within.told, ['error template-root'])
    const named = await codes(t, cwd, 'configs', '--lint-config', 'other/plantgw.lint.yaml')
    assert.deepEqual(named.told, ['error template-root'])
    const missing = await codes(t, cwd, 'configs', '--lint-config', 'no.yaml')
    assert.equal(missing.code, 2)
    assert.match(missing.stderr, /cannot read the lint configuration no\.yaml: no such file/)
    const templates = await run(t, ['lint-templates', '--format', 'json', 'configs'], { cwd })
    assert.equal(JSON.parse(templates.stdout).findings[0].severity, 'info')
  })
  test('what is wrong with plantgw.lint.yaml is a finding of its own', async (t) => {
    const cwd = write(t, {
      'user.yaml': faulty,
      'plantgw.lint.yaml': 'severity: {no-ruter: off, references: loud}\n',
    })
    const { stdout, code } = await run(t, ['validate', 'user.yaml'], { cwd })
    assert.match(stdout, /plantgw\.lint\.yaml:1:\d+: error: `references` must be one of .*; got "loud"/)
    assert.equal(code, 1)
    writeFileSync(join(cwd, 'plantgw.lint.yaml'), 'severity: {no-ruter: off}\n')
    const unknown = await run(t, ['validate', 'user.yaml'], { cwd })
    assert.match(unknown.stdout, /:1:12: error: there is no finding and no check `no-ruter`/)
    assert.match(unknown.stdout, /Did you mean `no-router`\?/)
  })
})

describe('what is printed', () => {
  test('--quiet prints errors only; --max-warnings makes too many of the others fail', async (t) => {
    const cwd = write(t, { 'user.yaml': faulty, 'warned.yaml': 'name: warned\n' })
    const quiet = await run(t, ['validate', '-q', 'user.yaml'], { cwd })
    assert.doesNotMatch(quiet.stdout, /unrouted-server/)
    assert.match(quiet.stdout, /template-root[\s\S]*1 error in 1 file\n$/)
    const sound = await run(t, ['validate', '--quiet', 'warned.yaml'], { cwd })
    assert.deepEqual([sound.stdout, sound.code], ['', 0])
    const enough = await run(t, ['validate', '--max-warnings', '1', 'warned.yaml'], { cwd })
    assert.equal(enough.code, 0)
    const many = await run(t, ['validate', '--quiet', '--max-warnings', '0', 'warned.yaml'], { cwd })
    assert.deepEqual([many.stdout, many.code], ['1 warning, and --max-warnings allows 0\n', 1])
    assert.equal((await run(t, ['validate', '--max-warnings', 'few', 'warned.yaml'], { cwd })).code, 2)
  })
  test('json counts every file that was looked at', async (t) => {
    const cwd = write(t, {
      'user.yaml': faulty,
      'shop.yaml': faulty.replaceAll('user', 'shop').replace('Arg.', 'Args.').replace(', {name: other}', ''),
    })
    const args = ['validate', '--format', 'json']
    const one = await run(t, [...args, 'shop.yaml'], { cwd })
    assert.deepEqual(JSON.parse(one.stdout), {
      findings: [],
      summary: { errors: 0, warnings: 0, infos: 0, files: 1 },
    })
    const both = await run(t, [...args, '.'], { cwd })
    assert.equal(JSON.parse(both.stdout).summary.files, 2)
  })
  test('--color and --no-color win over the environment', async (t) => {
    const cwd = write(t, { 'warned.yaml': 'name: warned\n' })
    const red = await run(t, ['validate', '--color', 'warned.yaml'], { cwd, env: { NO_COLOR: '1' } })
    assert.ok(red.stdout.includes('\u001b[33m'))
    const plain = await run(t, ['validate', '--no-color', 'warned.yaml'], { cwd, env: { FORCE_COLOR: '1' } })
    assert.ok(!plain.stdout.includes('\u001b['))
  })
  test('junit has a test case for each file, which fails with its errors', async (t) => {
    const cwd = write(t, { 'user.yaml': faulty, 'warned.yaml': 'name: "<warned>"\n' })
    const args = ['validate', '--format', 'junit', '.', '--max-warnings', '1']
    const { stdout, code } = await run(t, args, { cwd })
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="plantgw" tests="3" failures="2"/,
    )
    assert.match(
      stdout,
      /<testcase classname="user\.yaml" name="user\.yaml">\n +<failure type="template-root"/,
    )
    assert.match(stdout, /<testcase classname="warned\.yaml"[^>]*>\n +<system-out>[\s\S]*`&lt;warned&gt;`/)
    assert.match(stdout, /<failure message="2 warnings, and --max-warnings allows 1"\/>/)
  })
  test('what a comment silences is left out of every format, and --fix leaves it alone', async (t) => {
    const silenced = faulty.replace(
      '    endpoint',
      '    # plantgw-ignore template-root: to be seen\n    endpoint',
    )
    const cwd = write(t, { 'user.yaml': silenced })
    assert.deepEqual((await codes(t, cwd, 'user.yaml')).told, ['warning unrouted-server'])
    const fixed = await run(t, ['lint-templates', '--fix', '-'], { input: silenced })
    assert.deepEqual([fixed.stdout, fixed.code], [silenced, 0])
    assert.equal(fixed.stderr, '1 file, nothing wrong\n')
  })
})

describe('explain', () => {
  test('prints what the catalogue says', async (t) => {
    const { stdout, code } = await run(t, ['explain', 'prefix-form'])
    assert.match(
      stdout,
      /^prefix-form \(error, of the check references\)\n[\s\S]*Fix: [\s\S]*Wrong:\n\n {4}routers:\n[\s\S]*Right:/,
    )
    assert.equal(code, 0)
  })
  test('names the nearest code, and lists all', async (t) => {
    const near = await run(t, ['explain', 'prefix-from'])
    assert.equal(near.code, 2)
    assert.match(near.stderr, /unknown finding "prefix-from": did you mean prefix-form\?/)
    const missing = await run(t, ['explain', 'nosuch.yaml'])
    assert.equal(missing.stderr, 'plantgw: cannot read nosuch.yaml: no such file\n')
    const empty = await run(t, ['explain', temporaryFolder(t)])
    assert.match(empty.stderr, /warning: the folder contains no configuration \[no-files\]/)
    const all = await run(t, ['explain'])
    assert.match(all.stdout, /^prefix-form +error +A prefix of the wrong form$/m)
  })
})

describe('practice', () => {
  test('a file named unlike its configuration is a note', async (t) => {
    const cwd = write(t, {
      'billing.yaml': 'name: orders # plantgw-ignore no-router: it is about the name\n',
      '01-Shop_EU.prod.yml': 'name: shop-eu # plantgw-ignore no-router: it is about the name\n',
    })
    const { told, code } = await codes(t, cwd, '.')
    assert.deepEqual([told, code], [['info file-name'], 0])
  })
  test('limits of plantgw.lint.yaml', async (t) => {
    const cwd = write(t, {
      'user.yaml': faulty.replace('.Arg.', '.Args.').replace(', {name: other}', ''),
      'plantgw.lint.yaml': 'limits: {toolListTokens: 0, descriptionLength: 5}\n',
    })
    const { stdout } = await run(t, ['validate', '.'], { cwd })
    assert.match(stdout, /the 1 tool of `\/user` cost a model about \d\d tokens \(\d{3} characters\)/)
    assert.match(stdout, /the description of the tool `a` has 6 characters, more than 5/)
  })
  test('a gateway that listens beyond this machine, and NODE_ENV, are production', async (t) => {
    const cwd = write(t, {
      'user.yaml':
        'name: user\nrouters: [{server: user, prefix: /user, cors: {allowOrigins: ["*"]}}]\nservers: [{name: user}]\n',
      'beyond.yaml': 'host: 0.0.0.0\nallowUnauthenticated: true\n',
    })
    assert.deepEqual((await codes(t, cwd, 'user.yaml')).told, [])
    assert.deepEqual((await codes(t, cwd, 'user.yaml', '-s', 'beyond.yaml')).told, [
      'warning cors-any-origin',
    ])
    const { stdout } = await run(t, ['validate', 'user.yaml'], { cwd, env: { NODE_ENV: 'production' } })
    assert.match(stdout, /cors-any-origin/)
  })
  test('no format shows a secret, also not that of the settings', async (t) => {
    const secret = 'qL8s0Vx2Zt7YbN4mW1cR9dKf'
    const cwd = write(t, {
      'user.yaml': `name: user\nservers: [{name: user, config: {apiKey: ${secret}}, oops: 1}]\n`,
      'plantgw.yaml': `plants: {tokens: [{token: ${secret}, caller: a}]}\n`,
    })
    for (const format of Object.keys(FORMATS)) {
      const { stdout } = await run(t, ['validate', '-s', 'plantgw.yaml', '--format', format, 'user.yaml'], {
        cwd,
      })
      assert.ok(stdout.includes('unknown-key'), stdout)
      assert.equal(stdout.split('literal-secret').length > 2, true, stdout)
      assert.ok(!stdout.includes(secret), stdout)
    }
  })
  test('what other commands print of files with findings shows none either', async (t) => {
    const secret = 'qL8s0Vx2Zt7YbN4mW1cR9dKf'
    const cwd = write(t, {
      'user.yaml': `name: user\nservers: [{name: user, config: {apiKey: ${secret}}, oops: 1}]\n`,
      'plantgw.yaml': `admin: {token: ${secret}, oops: 1}\n`,
    })
    for (const args of [
      ['serve', 'user.yaml'],
      ['serve', '-s', 'plantgw.yaml', 'user.yaml'],
      ['reload', '-s', 'plantgw.yaml'],
      ['diff', '-s', 'plantgw.yaml'],
    ]) {
      const { stdout, stderr, code } = await run(t, args, { cwd })
      assert.equal(code, 1)
      assert.match(stderr, /unknown-key/)
      assert.ok(!(stdout + stderr).includes(secret), stderr)
    }
  })
})

test('a link that leads in a circle is told at its place', async (t) => {
  const cwd = write(t, {})
  symlinkSync('circle.yaml', join(cwd, 'circle.yaml'))
  const { code, told } = await codes(t, cwd, 'circle.yaml')
  assert.deepEqual([code, told], [1, ['error unreadable-file']])
})

test('a prefix at any page of the gateway itself is refused', async (t) => {
  const own = ['/_reload', '/_diff', '/_status', '/_health', '/_ready', '/metrics', '/Metrics/']
  const prefixes = own.map((prefix) => `{server: user, prefix: ${prefix}}`)
  const text = `name: user\nrouters: [${prefixes.join(', ')}]\nservers: [{name: user}]\n`
  const cwd = write(t, { 'user.yaml': text })
  const { told } = await codes(t, cwd, 'user.yaml', '--only', 'reserved-prefix')
  assert.deepEqual(told, Array(own.length).fill('error reserved-prefix'))
})
