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
  }
})

test('the version, and what is meant by a misspelt command', () => {
  assert.match(plantgw('--version').stdout, /^\d+\.\d+\.\d+\n$/)
  assert.equal(plantgw('-V').status, 0)
  const { stderr, status } = plantgw('validat')
  assert.match(stderr, /Did you mean validate\?/)
  assert.equal(status, 2)
  assert.match(plantgw('help', 'validate').stdout, /^Usage: plantgw validate /)
})
