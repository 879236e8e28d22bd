import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startLanguageServer } from '../support/language-server.ts'
import { freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'

const files = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .sort()

const CONFIGS = ['configs/plants.yaml', 'plantgw.yaml']
const SCHEMAS = ['schemas/configuration.schema.json', 'schemas/settings.schema.json']

async function initialised(t: TestContext, ...args: string[]) {
  const folder = temporaryFolder(t)
  const { code, stdout, stderr } = await run(t, ['init', ...args], { cwd: folder })
  assert.equal(code, 0, stderr)
  return { folder, stdout }
}

test('what init writes has no finding, whatever the service is called', async (t) => {
  const { folder } = await initialised(t)
  assert.deepEqual(files(folder), [...CONFIGS, ...SCHEMAS])
  const { stdout } = await run(t, ['init', 'a $b', '--name', 'shop'], { cwd: folder })
  assert.match(stdout, /^ {2}cd 'a \$b'$/m)
  for (const name of ['shop', 'plant-store', 'demo_2'])
    assert.equal((await run(t, ['init', `in/${name}`, '--name', name], { cwd: folder })).code, 0)
  for (const cwd of [folder, ...['shop', 'plant-store', 'demo_2'].map((name) => join(folder, 'in', name))]) {
    const sound = await run(t, ['validate', 'configs'], { cwd })
    assert.deepEqual([sound.code, sound.stdout], [0, '1 file, nothing wrong\n'])
    const templates = await run(t, ['lint-templates', 'configs'], { cwd })
    assert.deepEqual([templates.code, templates.stdout], [0, '1 file, nothing wrong\n'])
  }
})

test('it is served and called by the commands that init prints', async (t) => {
  const { folder: cwd, stdout } = await initialised(t)
  const port = String(await freePort())
  const commands = [...stdout.matchAll(/^ {2}(?:npx plantgw|node \S+plantgw\.js) (.+)$/gm)].map(([, line]) =>
    line!.split(' '),
  )
  const [validate, serve, ...calls] = commands.filter(([name]) => name !== 'import')
  assert.equal((await run(t, validate!, { cwd })).code, 0)
  const env = { PLANTGW_PORT: port, PLANTGW_LOG_FORMAT: 'json' }
  const serving = plantgw(t, serve!, { cwd, env })
  await serving.until(/plantgw serves/)
  const outputs: string[] = []
  for (const call of calls) {
    const { code, stdout: out, stderr } = await run(t, call, { cwd, env })
    assert.equal(code, 0, stderr)
    outputs.push(out)
  }
  assert.match(outputs.join(''), /"name":\s*"Fern"/)
})

test('nothing is overwritten, and nothing is half written', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  writeFileSync(join(folder, 'configs/plants.yaml'), 'mine\n')
  const taken = await run(t, ['init'], { cwd: folder })
  assert.equal(taken.code, 2)
  assert.match(taken.stderr, /^plantgw: configs\/plants\.yaml already exists; nothing was written$/m)
  assert.deepEqual(files(folder), ['configs/plants.yaml'])
  assert.equal(readFileSync(join(folder, 'configs/plants.yaml'), 'utf8'), 'mine\n')

  writeFileSync(join(folder, 'schemas'), 'a file where a folder is needed')
  const blocked = await run(t, ['init', '--name', 'shop'], { cwd: folder })
  assert.equal(blocked.code, 2)
  assert.deepEqual(files(folder), ['configs/plants.yaml', 'schemas'])
  assert.equal((await run(t, ['init', '--name', '../shop'], { cwd: folder })).code, 2)
})

test('a folder that cannot be made is an error', { skip: process.platform !== 'linux' }, () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'bin/plantgw.js'), 'init', '/proc/x/y'],
    {
      encoding: 'utf8',
      timeout: 60_000,
    },
  )
  assert.deepEqual(
    [status, stderr],
    [2, "plantgw: cannot write: ENOENT: no such file or directory, mkdir '/proc/x'; nothing was written\n"],
  )
})

test('the first line of each file names a schema that is there', async (t) => {
  const named = (folder: string, file: string) => {
    const [, schema] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(
      readFileSync(join(folder, file), 'utf8'),
    )!
    return resolve(folder, dirname(file), schema!)
  }
  const { folder } = await initialised(t)
  for (const file of CONFIGS) assert.ok(existsSync(named(folder, file)), file)
  const server = await startLanguageServer(t)
  for (const file of CONFIGS) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    assert.deepEqual(await server.open(path, text), [])
    const wrong = await server.open(path.replace('.yaml', '-2.yaml'), `${text}\nnosuchkey: 1\n`)
    assert.match(JSON.stringify(wrong), /nosuchkey/)
  }

  // Installed in a project: the package's own schemas.
  const project = temporaryFolder(t)
  const home = join(project, 'node_modules/plantgw')
  for (const part of ['bin', 'dist', 'schemas', 'examples', 'package.json'])
    cpSync(join(ROOT, part), join(home, part), { recursive: true })
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!name.startsWith('.'))
      symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
  const made = spawnSync(process.execPath, [join(home, 'bin/plantgw.js'), 'init', 'deep/app'], {
    cwd: project,
  })
  assert.equal(made.status, 0, String(made.stderr))
  const app = join(project, 'deep/app')
  assert.deepEqual(files(app), CONFIGS)
  for (const file of CONFIGS) assert.equal(dirname(named(app, file)), join(home, 'schemas'))
})
