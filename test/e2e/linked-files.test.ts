import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfigurations } from '../../src/checks/index.ts'
import { FORMATS } from '../../src/cli/validate/report.ts'
import { formatText } from '../../src/findings/index.ts'
import { gatewayOver } from '../support/gateway.ts'
import { run, temporaryFolder } from '../support/process.ts'

const sound = (name: string) =>
  `name: ${name}\nrouters: [{server: s, prefix: /${name}}]\nservers: [{name: s}]\ntools: []\n`

/** `in/` beside `out/`, with these files. */
function folders(t: TestContext, files: Record<string, string>) {
  const root = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return { root, at: (name: string) => join(root, name) }
}

/** What somebody would like to read by a link. */
const SECRETS = {
  'plain text': 'root:TOPSECRET:1:1\nTOPSECRET\n',
  'an unknown key': 'TOPSECRET: TOPSECRET\n',
  'a map of wrong types':
    'name: [TOPSECRET]\nTOPSECRET: {TOPSECRET: 1}\ntools: [{name: TOPSECRET, endpoint: "{{.TOPSECRET}}"}]\n',
  'broken YAML': 'password: "TOPSECRET\n  - [\n',
  'a list': '- TOPSECRET\n',
  'a comment': '# plantgw-ignore TOPSECRET\nTOPSECRET: 1\n',
  'a template': `${sound('x')}x-TOPSECRET: 1\nTOPSECRET: "{{ TOPSECRET }}"\n`,
}

test('a link out of the folder shows nothing of what it leads to', async (t) => {
  const { at } = folders(t, { 'in/a.yaml': sound('a'), 'out/lint': 'TOPSECRET: 1\n' })
  symlinkSync('../out/lint', at('in/plantgw.lint.yaml'))
  const links = Object.entries(SECRETS).map(([what, text], i) => {
    writeFileSync(at(`out/${i}`), text)
    symlinkSync(at(`out/${i}`), at(`in/${i}.yaml`))
    return [what, 'linked-file', at(`in/${i}.yaml`)]
  })
  const { findings, sources, configurations } = await readConfigurations([at('in')], {})
  assert.deepEqual(
    findings.map(({ code, file }, i) => [links[i]?.[0], code, file]),
    links,
  )
  assert.doesNotMatch(JSON.stringify([findings, [...sources], configurations]), /TOPSECRET/)
  for (const command of ['validate', 'lint-templates'])
    for (const format of Object.keys(FORMATS)) {
      const { code, stdout, stderr } = await run(t, [command, at('in'), '--format', format])
      assert.doesNotMatch(stdout + stderr, /TOPSECRET|root:/, `${command} ${format}`)
      assert.match(stdout, /link out of the folder|the link leads out/)
      assert.equal(code, 1)
    }
  const fixed = await run(t, ['validate', '--fix', at('in')])
  assert.doesNotMatch(fixed.stdout + fixed.stderr, /TOPSECRET/)
})

test('a reload tells nothing of it either, and what was served is served on', async (t) => {
  const { at } = folders(t, { 'in/a.yaml': sound('a'), 'out/b.yaml': sound('b') })
  symlinkSync(at('out/b.yaml'), at('in/b.yaml'))
  const { gateway } = await gatewayOver(t, [at('in')])
  const served = () => [...gateway.table().prepared.keys()].sort()
  assert.deepEqual(served(), ['a', 'b'])
  writeFileSync(at('out/b.yaml'), 'TOPSECRET: TOPSECRET\n')
  const { findings } = await gateway.reload()
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['linked-file'],
  )
  assert.doesNotMatch(JSON.stringify([findings, gateway.reloads.history()]), /TOPSECRET/)
  assert.deepEqual(served(), ['a', 'b'])
})

test('a sound file outside is served, and its findings show no line of it', async (t) => {
  const { at } = folders(t, { 'out/b.yaml': `${sound('b')}# TOPSECRET\n`, 'in/a.yaml': sound('b') })
  symlinkSync(at('out/b.yaml'), at('in/b.yaml'))
  const { findings, sources, configurations } = await readConfigurations([at('in')], {})
  assert.deepEqual(
    configurations.map(({ configuration }) => configuration?.name),
    ['b', 'b'],
  )
  assert.match(findings.map(({ code }) => code).join(), /duplicate-configuration/)
  const told = formatText(findings, sources, { color: false })
  assert.match(told, /in\/a\.yaml:\d+:\d+: /)
  assert.doesNotMatch(told, /TOPSECRET/)
  assert.equal(sources.get(at('in/b.yaml')), '')
})

test('links within the folder are files of it, as those of a ConfigMap are; so is what is named itself', async (t) => {
  const broken = 'nam: x\n'
  const { at } = folders(t, {
    'map/..2026/a.yaml': sound('a'),
    'map/..2026/b.yaml': broken,
    'out/c.yaml': broken,
  })
  symlinkSync('..2026', at('map/..data'))
  for (const name of ['a.yaml', 'b.yaml']) symlinkSync(join('..data', name), at(`map/${name}`))
  symlinkSync('map', at('link'))
  for (const folder of ['map', 'link']) {
    const { findings, sources } = await readConfigurations([at(folder)], {})
    assert.match(formatText(findings, sources, { color: false }), /1 \| nam: x/)
    assert.ok(findings.every(({ code, file }) => code !== 'linked-file' && file.endsWith('b.yaml')))
  }
  symlinkSync(at('out/c.yaml'), at('map/c.yaml'))
  for (const paths of [[at('map/c.yaml')], [at('map'), at('map/c.yaml')], [at('map/c.yaml'), at('map')]]) {
    const { findings, sources } = await readConfigurations(paths, {})
    assert.ok(
      findings.every(({ code }) => code !== 'linked-file'),
      paths.join(),
    )
    assert.equal(sources.get(at('map/c.yaml')), broken)
  }
})

test('pipes, devices and files of the kernel are not read by a link', { timeout: 20_000 }, async (t) => {
  const { at } = folders(t, { 'in/a.yaml': sound('a') })
  execFileSync('mkfifo', [at('in/pipe.yaml'), at('pipe')])
  symlinkSync(at('pipe'), at('in/linked-pipe.yaml'))
  symlinkSync('/dev/zero', at('in/device.yaml'))
  symlinkSync('/proc/self/environ', at('in/environ.yaml'))
  symlinkSync(at('pipe'), at('in/plantgw.lint.yaml'))
  const { stdout } = await run(t, ['validate', at('in')], { env: { MY_VARIABLE: 'TOPSECRET' } })
  assert.match(stdout, /environ\.yaml: error: the link leads out/)
  assert.doesNotMatch(stdout, /MY_VARIABLE|TOPSECRET|pipe|device/)
})
