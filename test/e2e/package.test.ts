import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { deadLinks, pagesBelow } from '../support/links.ts'
import { unpack } from '../support/packed.ts'
import { temporaryFolder } from '../support/process.ts'

test('the packed tarball, installed elsewhere, is a working plantgw with schemas and examples', (t) => {
  const installed = unpack(t)
  assert.deepEqual(
    readdirSync(installed)
      .filter((name) => name !== 'node_modules')
      .sort(),
    [
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin',
      'deploy',
      'dist',
      'docs',
      'examples',
      'package.json',
      'schemas',
    ],
  )
  // What npm shows of a package has no other files.
  assert.deepEqual(
    pagesBelow(installed).flatMap((page) => deadLinks(installed, page)),
    [],
  )
  const elsewhere = temporaryFolder(t)
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [join(installed, 'bin/plantgw.js'), ...args], {
      cwd: elsewhere,
      encoding: 'utf8',
    })
  assert.match(run('--version'), /^\d+\.\d+\.\d+\n$/)
  assert.match(run('validate', join(installed, 'examples/configs')), /nothing wrong/)
  const library = `import('plantgw').then(({ CODES }) => console.log(Object.keys(CODES).length > 10))`
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', library], {
    cwd: installed,
    encoding: 'utf8',
  })
  assert.equal(printed, 'true\n')
})
