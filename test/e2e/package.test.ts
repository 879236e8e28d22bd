import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, temporaryFolder } from '../support/process.ts'

test('the packed tarball, installed elsewhere, is a working plantgw with schemas and examples', (t) => {
  const folder = temporaryFolder(t)
  const npm = (...args: string[]) => execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' })
  npm('pack', '--ignore-scripts', '--silent', '--pack-destination', folder)
  const [tarball] = readdirSync(folder)
  execFileSync('tar', ['-xzf', tarball!], { cwd: folder })
  const installed = join(folder, 'package')
  assert.deepEqual(readdirSync(installed).sort(), [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin',
    'dist',
    'docs',
    'examples',
    'package.json',
    'schemas',
  ])
  // The dependencies are those that the lockfile has installed here.
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'))
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(elsewhere)
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
