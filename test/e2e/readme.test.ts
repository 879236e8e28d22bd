import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ROOT, run, temporaryFolder } from '../support/process.ts'

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')

test("the README's configuration is sound and sends what the README says", async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'weather.yaml'), /```yaml\n([^`]+)```/.exec(readme)![1]!)
  const sound = await run(t, ['validate', 'weather.yaml'], { cwd: folder })
  assert.deepEqual([sound.code, sound.stdout], [0, '1 file, nothing wrong\n'])
  const [, arguments_, line] = /plantgw render (.+)\n(GET .+)\n/.exec(readme)!
  const words = arguments_!.split(' ').map((word) => word.replaceAll("'", ''))
  const rendered = await run(t, ['render', ...words], { cwd: folder })
  assert.equal(rendered.code, 0, rendered.stderr)
  assert.equal(rendered.stdout.split('\n')[0], line)
})

/** Whether there is such a file, with such a heading. */
function leadsSomewhere(target: string, page = 'README.md'): boolean {
  const [path, heading] = target.split('#')
  const file = path ? join(ROOT, dirname(page), path) : join(ROOT, page)
  if (!existsSync(file)) return false
  const anchors = () =>
    [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
  return heading === undefined || anchors().includes(heading)
}

test("the README's links lead somewhere", () => {
  for (const [, target] of readme.matchAll(/\]\(([^)h][^)]*)\)/g)) assert.ok(leadsSomewhere(target!), target)
})

test('the links of the pages of docs lead somewhere', () => {
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
  for (const name of pages) {
    const page = join('docs', name)
    const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```.*?^```$/gms, '')
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g))
      assert.ok(leadsSomewhere(target!, page), `${page}: ${target}`)
  }
})

test('every dependency has its reason in the README', () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const table = readme.slice(readme.indexOf('## Dependencies'))
  for (const name of Object.keys(dependencies)) assert.ok(table.includes(name), name)
})
