import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { deadLinks, pagesBelow } from '../support/links.ts'
import { unpack } from '../support/packed.ts'
import { ROOT, run, temporaryFolder } from '../support/process.ts'

test('the packed tarball, installed elsewhere, is a working plantgw with schemas and examples', (t) => {
  const installed = unpack(t)
  assert.deepEqual(
    readdirSync(installed)
      .filter((name) => name !== 'node_modules')
      .sort(),
    (
      'CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md bin deploy dist docs examples ' +
      'package.json schemas'
    ).split(' '),
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

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')

test("the README's configuration is sound and sends what the README says", async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'weather.yaml'), /```yaml\n([^`]+)```/.exec(readme)![1]!)
  const sound = await run(t, ['validate', 'weather.yaml'], { cwd: folder })
  assert.deepEqual([sound.code, sound.stdout], [0, '1 file, nothing wrong\n'])
  const [, arguments_, line] = /plantgw render configs\/(.+)\n(GET .+)\n/.exec(readme)!
  const words = arguments_!.split(' ').map((word) => word.replaceAll("'", ''))
  const rendered = await run(t, ['render', ...words], { cwd: folder })
  assert.equal(rendered.code, 0, rendered.stderr)
  assert.equal(rendered.stdout.split('\n')[0], line)
})

test('the links of all pages lead somewhere', () => {
  const pages = pagesBelow(ROOT)
  assert.ok(pages.includes('README.md') && pages.includes('docs/guides/apis.md'))
  assert.deepEqual(
    pages.flatMap((page) => deadLinks(ROOT, page)),
    [],
  )
})

test('the index of the documentation and the sidebar of its site have every page', () => {
  const index = readFileSync(join(ROOT, 'docs/index.md'), 'utf8')
  const sidebar = readFileSync(join(ROOT, 'docs/.vitepress/config.ts'), 'utf8')
  for (const page of pagesBelow(ROOT, 'docs')) {
    const name = page.replace(/^docs\//, '')
    if (name === 'index.md') continue
    assert.ok(index.includes(`](${name})`), `docs/index.md does not link to ${name}`)
    assert.ok(sidebar.includes(`['${name.slice(0, -3)}', `), `the sidebar lacks ${name}`)
  }
})

test('every dependency has its reason in CONTRIBUTING.md', () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const table = page.slice(page.indexOf('## Dependencies'))
  for (const name of Object.keys(dependencies)) assert.ok(table.includes(name), name)
})
