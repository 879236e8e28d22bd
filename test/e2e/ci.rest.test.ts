import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { install, unpack } from '../support/packed.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'

const sound = `name: a
routers: [{server: s, prefix: /a}]
servers: [{name: s, description: A test}]
tools:
  - name: b
    description: A tool
    method: GET
    endpoint: https://api.example.com/
    headers: {Authorization: 'Bearer {{env "A_TOKEN"}}'}
`
const faulty = sound.replace('GET', 'GTE')

/** A project with configurations, a repository of its own and the packed plantgw installed. */
function project(t: TestContext) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  install(unpack(t), folder)
  writeFileSync(join(folder, '.gitignore'), 'node_modules\n')
  const bin = join(folder, 'node_modules/.bin')
  const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.com' }
  const committer = { GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.com' }
  const env = { ...who, ...committer, HOME: folder, PATH: `${bin}${delimiter}${process.env.PATH}` }
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' })
    return { status, stdout, stderr, output: stdout + stderr }
  }
  const write = (text: string) => writeFileSync(join(folder, 'configs/a.yaml'), text)
  return { folder, run, write }
}

test('the workflow of examples/ci annotates and reports', (t) => {
  const { folder, run, write } = project(t)
  const { jobs } = parse(readFileSync(join(ROOT, 'examples/ci/.github/workflows/plantgw.yml'), 'utf8')) as {
    jobs: { validate: { steps: { name?: string; run?: string }[] } }
  }
  const steps = jobs.validate.steps.filter((step) => step.run && step.name !== 'Install')
  // As GitHub Actions runs them.
  const [annotations, report] = steps.map((step) => () => run('bash', '-eo', 'pipefail', '-c', step.run!))
  const results = () => JSON.parse(readFileSync(join(folder, 'plantgw.sarif'), 'utf8')).runs[0].results

  write(sound)
  assert.deepEqual([annotations!().status, annotations!().output], [0, ''])
  assert.equal(report!().status, 0)
  assert.deepEqual(results(), [])

  write(faulty)
  const told = annotations!()
  assert.equal(told.status, 1)
  assert.match(told.stdout, /^::error file=configs\/a\.yaml,line=7,/)
  assert.equal(report!().status, 0)
  assert.equal(results()[0].ruleId, 'unknown-method')
})

test('the pre-commit hook of examples/ci looks at what is committed', (t) => {
  const { folder, run, write } = project(t)
  assert.equal(run('git', 'init', '--quiet').status, 0)
  cpSync(join(ROOT, 'examples/ci/pre-commit'), join(folder, '.git/hooks/pre-commit'))
  const commit = () => run('git', 'commit', '--quiet', '--message', 'a change')

  write(faulty)
  run('git', 'add', '.')
  // What lies in the working folder does not count.
  write(sound)
  const refused = commit()
  assert.equal(refused.status, 1)
  assert.match(refused.output, /configs\/a\.yaml:7:\d+: error: `GTE` is not an HTTP method/)

  run('git', 'add', '.')
  assert.equal(commit().status, 0)
  run('git', 'rm', '--quiet', 'configs/a.yaml')
  assert.equal(commit().status, 0)
  writeFileSync(join(folder, 'other'), '')
  run('git', 'add', 'other')
  assert.deepEqual([commit().status, commit().stdout.includes('nothing wrong')], [0, false])
  assert.equal(run('git', 'log', '--format=%s').stdout.split('\n').length, 4)
})
