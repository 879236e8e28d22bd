import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { readConfigurations } from '../../src/checks/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'plantgw-files-'))
after(() => rmSync(folder, { recursive: true }))
const at = (name: string) => join(folder, name)
const config = (name: string) =>
  `name: ${name}\nrouters: [{server: s, prefix: /${name}}]\nservers: [{name: s}]\n`
const write = (name: string, text: string | Uint8Array) => {
  mkdirSync(join(at(name), '..'), { recursive: true })
  writeFileSync(at(name), text)
}
const read = async (...names: string[]) => {
  const result = await readConfigurations(names.map(at), {})
  return { ...result, names: result.configurations.map(({ configuration }) => configuration?.name) }
}
const codes = (findings: { code: string; file: string }[]) =>
  findings.map(({ code, file }) => `${code} ${file.replace(`${folder}/`, '')}`)

write('all/b.yml', config('b'))
write('all/a.yaml', config('a'))
write('all/deep/er/c.yaml', config('c'))
write('all/.hidden.yaml', 'broken: [')
write('all/.git/d.yaml', 'broken: [')
write('all/notes.txt', 'broken: [')
symlinkSync(at('all'), at('all/loop.yaml'))

describe('files and folders', () => {
  test('a folder gives its YAML files and those below it, sorted', async () => {
    const { names, findings, sources } = await read('all')
    assert.deepEqual(names, ['a', 'b', 'c'])
    assert.deepEqual(findings, [])
    assert.equal(sources.get(at('all/a.yaml')), config('a'))
  })

  test('a file that is named twice is read once', async () => {
    assert.deepEqual((await read('all/a.yaml', 'all', 'all/../all/a.yaml')).names, ['a', 'b', 'c'])
  })

  test('files of every size are read whole, and in the order of their paths', async () => {
    const sizes = [
      0,
      1,
      32_767,
      32_768,
      32_769,
      262_144,
      1_000_000,
      ...Array.from({ length: 40 }, (_, i) => i),
    ]
    const texts = sizes.map((size, i) => `${config(`n${i}`)}# ${'x'.repeat(Math.max(0, size - 100))}`)
    for (const [i, text] of texts.entries()) write(`sizes/${String(i).padStart(2, '0')}.yaml`, text)
    const { configurations, findings } = await read('sizes')
    assert.deepEqual(findings, [])
    assert.ok(configurations.every(({ text }, i) => text === texts[i]))
    assert.equal(configurations.length, texts.length)
  })

  test('what cannot be read is a finding, and the others are read', async () => {
    write('latin1.yaml', Buffer.from([0x6e, 0xe9]))
    symlinkSync(at('nowhere'), at('dangling.yaml'))
    const { names, findings } = await read(
      'missing.yaml',
      'latin1.yaml',
      'dangling.yaml',
      'all/a.yaml/x',
      'all/a.yaml',
    )
    assert.deepEqual(names, ['a'])
    assert.deepEqual(codes(findings), [
      'unreadable-file all/a.yaml/x',
      'unreadable-file dangling.yaml',
      'unreadable-file latin1.yaml',
      'unreadable-file missing.yaml',
    ])
  })

  test('a folder without configurations is a warning', async () => {
    mkdirSync(at('none/below'), { recursive: true })
    const { findings } = await read('none')
    assert.deepEqual(codes(findings), ['no-files none'])
    assert.equal(findings[0]!.severity, 'warning')
  })

  test('more than 4 MiB are refused', async () => {
    write('large.yaml', `name: a # ${'x'.repeat(4 * 1024 * 1024)}`)
    assert.deepEqual(codes((await read('large.yaml')).findings), ['file-too-large large.yaml'])
  })

  test('what is no file is not read, among few and among many', { timeout: 20_000 }, async () => {
    execFileSync('mkfifo', [at('pipe.yaml')])
    const more = Array.from({ length: 120 }, (_, i) => at(`gone-${i}.yaml`))
    for (const others of [[], more]) {
      const { findings } = await readConfigurations([at('pipe.yaml'), '/dev/zero', ...others], {})
      assert.deepEqual(
        findings
          .filter(({ file }) => !others.includes(file))
          .map(({ code, file, message }) => `${codes([{ code, file }])} ${message}`),
        [
          'unreadable-file /dev/zero this is a device, not a file',
          'unreadable-file pipe.yaml this is a named pipe, not a file',
        ],
      )
    }
    assert.deepEqual(codes((await readConfigurations(['/dev/null'], {})).findings), ['empty-file /dev/null'])
  })

  test('a byte order mark is no part of the text', async () => {
    write('bom.yaml', `\ufeff${config('bom')}`)
    assert.deepEqual((await read('bom.yaml')).names, ['bom'])
  })

  test('- is standard input', async () => {
    const { configurations } = await readConfigurations(
      ['-', '-'],
      {},
      { stdin: () => Buffer.from(config('in')) },
    )
    assert.deepEqual(
      configurations.map(({ file, configuration }) => [file, configuration!.name]),
      [['-', 'in']],
    )
  })

  test('what clashes among files is found', async () => {
    write('twice/a.yaml', config('same'))
    write('twice/b.yaml', config('same'))
    const { findings } = await read('twice')
    assert.deepEqual(codes(findings), [
      'duplicate-configuration twice/b.yaml',
      'duplicate-prefix twice/b.yaml',
    ])
    assert.equal(findings[0]!.related![0]!.file, at('twice/a.yaml'))
  })
})

test('the examples of the package are sound', async () => {
  const { findings, configurations } = await readConfigurations(['examples/configs'], process.env, {
    reserved: ['/_reload'],
  })
  assert.deepEqual(findings, [])
  assert.ok(configurations.length > 0)
})
