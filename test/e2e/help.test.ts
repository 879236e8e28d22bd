import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import TABLE from '../../src/cli/examples.json' with { type: 'json' }

const EXAMPLES: Partial<Record<string, string[]>> = TABLE

const plantgw = (...args: string[]) =>
  spawnSync(process.execPath, ['bin/plantgw.js', ...args], { encoding: 'utf8' })
const GROUPS = ['Start', 'Write configurations', 'Run the gateway', 'Call tools', 'Connect others']
/** Commands that read configurations or the settings of a gateway. */
const READERS = [
  ...['serve', 'validate', 'lint-templates', 'check-endpoints', 'render', 'explain', 'pin', 'diff', 'reload'],
  ...['tools', 'call', 'search', 'logout', 'connect', 'publish'],
]

/** The names of the commands below a heading of a help. */
function commandsIn(help: string, group: string): string[] {
  const lines = (help.split(`\n${group}:\n`)[1] ?? '').split('\n\n')[0]!
  return [...lines.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name!)
}

test('the help shows every command in five groups, and each command has the same options for the same purpose', () => {
  const root = plantgw('--help').stdout
  const top = GROUPS.flatMap((group) => commandsIn(root, group)).filter((name) => name !== 'help')
  assert.ok(top.length >= 13, root)
  const seen: string[] = []
  const visit = (words: string) => {
    const { stdout, status } = plantgw(...words.split(' '), '--help')
    assert.equal(status, 0, words)
    seen.push(words)
    assert.ok(stdout.startsWith(`Usage: plantgw ${words} `), stdout)
    assert.doesNotMatch(stdout, /default:\s+(?:\{\}|\[\])/)
    const [text = '', examples] = stdout.split('\nExamples:\n')
    const wide = text.split('\n').filter((line) => line.length > 80)
    assert.deepEqual(wide, [], words)
    const options = [...text.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, name]) => name)
    assert.ok(options.includes('--env-file'), words)
    assert.equal(options.includes('--json'), /"json"/.test(text), words)
    if (READERS.includes(words) || words.startsWith('config '))
      assert.ok(options.includes('--settings'), words)
    if (!words.includes(' ') || EXAMPLES[words]) assert.match(examples ?? '', /^ {2}\$ plantgw |eval/, words)
    const subs = commandsIn(stdout, 'Commands').filter((name) => name !== 'help')
    for (const [, option] of subs.length
      ? []
      : (EXAMPLES[words] ?? [])
          .join(' ')
          .replace(/'.*?'/g, '')
          .matchAll(/ (-[a-z]|--[a-z-]+)(?= |$)/g))
      assert.match(text, new RegExp(`${option}\\b`), `${words} has no ${option}`)
    for (const sub of subs) visit(`${words} ${sub}`)
  }
  for (const name of top) visit(name)
  const unknown = Object.keys(EXAMPLES).filter((words) => !seen.includes(words))
  assert.deepEqual(unknown, [])
})

test('the version, and what is meant by a misspelt command', () => {
  assert.match(plantgw('--version').stdout, /^\d+\.\d+\.\d+\n$/)
  for (const way of ['-V', '-v', 'version']) assert.equal(plantgw(way).stdout, plantgw('--version').stdout)
  for (const words of [['validat'], ['help', 'validat'], ['validat', '--help']]) {
    const { stdout, stderr, status } = plantgw(...words)
    assert.match(stderr, /^plantgw: unknown command 'validat'\n\(Did you mean validate\?\)/)
    assert.deepEqual([stdout, status], ['', 2])
  }
  for (const words of [['nope', '--help'], ['help', 'nope'], ['nope']])
    for (const group of ['import', 'config']) {
      const { stdout, stderr, status } = plantgw(group, ...words)
      assert.match(stderr, new RegExp(`^plantgw: unknown command 'nope'\nusage: plantgw ${group} `))
      assert.deepEqual([stdout, status], ['', 2])
    }
  assert.match(plantgw('import', 'help', 'mcp').stdout, /^Usage: plantgw import mcp /)
  assert.match(plantgw('help', 'validate').stdout, /^Usage: plantgw validate /)
  assert.match(plantgw('help', 'import', 'mcp').stdout, /^Usage: plantgw import mcp /)
  assert.equal(plantgw('help').stdout, plantgw('--help').stdout)
})

test('completion prints a script for each shell', () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = plantgw('completion', shell)
    assert.deepEqual([status, stdout.includes('plantgw complet')], [0, true], stdout)
    assert.doesNotMatch(stdout, /plantgw complete --/)
  }
})
