import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const plantgw = (...args: string[]) =>
  spawnSync(process.execPath, ['bin/plantgw.js', ...args], { encoding: 'utf8' })

test('the help knows every command, and each of them is there by itself', () => {
  const help = plantgw('--help').stdout
  const names = [...help.split('Commands:')[1]!.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name!)
  assert.ok(names.length >= 13, help)
  for (const name of names.filter((one) => one !== 'help')) {
    const { stdout, status } = plantgw(name, '--help')
    assert.equal(status, 0, name)
    assert.ok(stdout.startsWith(`Usage: plantgw ${name} `), stdout)
    assert.doesNotMatch(stdout, /default:\s+(?:\{\}|\[\])/)
    assert.match(stdout, /\nExamples:\n {2}\$ plantgw |eval/, name)
  }
})

test('an example of a help names options and commands that there are', async () => {
  const { EXAMPLES } = await import('../../src/cli/examples.ts')
  for (const [words, lines] of Object.entries(EXAMPLES)) {
    const { stdout } = plantgw(...words.split(' '), '--help')
    assert.ok(stdout.includes(`Usage: plantgw ${words} `), words)
    for (const option of lines.join(' ').matchAll(/ (-[a-z]|--[a-z-]+)(?= |$)/g))
      assert.match(stdout, new RegExp(`${option[1]}\\b`), `${words} has no ${option[1]}`)
  }
})

test('the version, and what is meant by a misspelt command', () => {
  assert.match(plantgw('--version').stdout, /^\d+\.\d+\.\d+\n$/)
  for (const way of ['-V', '-v', 'version']) assert.equal(plantgw(way).stdout, plantgw('--version').stdout)
  const { stderr, status } = plantgw('validat')
  assert.match(stderr, /Did you mean validate\?/)
  assert.equal(status, 2)
  assert.match(plantgw('help', 'validate').stdout, /^Usage: plantgw validate /)
})

test('completion prints a script for each shell', () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = plantgw('completion', shell)
    assert.deepEqual([status, stdout.includes('plantgw complet')], [0, true], stdout)
    assert.doesNotMatch(stdout, /plantgw complete --/)
  }
})

test('a completion script of an older version asks, and is offered nothing', () => {
  const { status, stdout, stderr } = plantgw('complete', '--', 'config', 'get', '-s', 'none.yaml', '--tenant')
  assert.deepEqual([status, stdout, stderr], [0, '', ''])
})
