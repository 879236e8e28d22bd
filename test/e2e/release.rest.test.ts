import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT, temporaryFolder } from '../support/process.ts'

/** A repository with a small package in it. */
function repository(t: TestContext, changelog: string) {
  const folder = temporaryFolder(t)
  const own = { GIT_CONFIG_GLOBAL: '/dev/null', HOME: folder, PATH: process.env.PATH }
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, env: own, encoding: 'utf8' })
    return { status, stdout, stderr }
  }
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  write('package.json', '{ "name": "small", "version": "0.1.0" }\n')
  write(
    'package-lock.json',
    '{ "name": "small", "version": "0.1.0", "lockfileVersion": 3, "packages": {} }\n',
  )
  write('CHANGELOG.md', changelog)
  write('.gitignore', '*.tgz\n.npm\n')
  run('git', 'init', '--quiet')
  run('git', 'config', 'user.name', 'a')
  run('git', 'config', 'user.email', 'a@example.com')
  run('git', 'add', '.')
  run('git', 'commit', '--quiet', '--message', 'first')
  return { folder, run, write, read, release: (version: string) => run(join(ROOT, '.ci/release'), version) }
}

const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-01\n\n- The first.\n'

test('a release turns what is unreleased into a version, packs and tags it', (t) => {
  const { folder, run, read, release } = repository(t, CHANGELOG)
  const { status, stderr, stdout } = release('0.2.0')
  assert.equal(status, 0, stderr)
  assert.match(stdout, /tagged v0\.2\.0/)
  assert.match(
    read('CHANGELOG.md'),
    /## Unreleased\n\n## 0\.2\.0 - \d{4}-\d\d-\d\d\n\n### Added\n\n- A thing\.\n\n## 0\.1\.0/,
  )
  assert.equal(JSON.parse(read('package.json')).version, '0.2.0')
  assert.equal(JSON.parse(read('package-lock.json')).version, '0.2.0')
  assert.ok(existsSync(join(folder, 'small-0.2.0.tgz')))
  assert.equal(run('git', 'describe').stdout.trim(), 'v0.2.0')
  assert.equal(run('git', 'status', '--porcelain').stdout, '')
  assert.match(run('git', 'tag', '--list', '-n9').stdout, /A thing/)
})

test('a release refuses a wrong version, changes in the work tree, and an empty changelog', (t) => {
  const { write, run, release } = repository(t, CHANGELOG)
  assert.match(release('two').stderr, /Usage/)
  write('new', '')
  assert.match(release('0.2.0').stderr, /work tree has changes/)
  run('git', 'clean', '--force')
  assert.equal(release('0.2.0').status, 0)
  assert.match(release('0.2.0').stderr, /exists already/)
  assert.match(release('0.3.0').stderr, /no changes below/)
})
