import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkTogether, readConfiguration } from '../../src/checks/index.ts'

/** Files made to take time by the square of their size, or to use up the stack; the code that each gives first. */
const many = 20_000
const cases: [name: string, text: string, code: string | undefined][] = [
  ['lists nested without end', '['.repeat(100_000), 'yaml-syntax'],
  ['maps nested without end', '{a: '.repeat(50_000), 'yaml-syntax'],
  ['items nested without end', '- '.repeat(100_000), 'yaml-syntax'],
  [
    'nested deeper than any configuration',
    `name: a\nx-a: ${'['.repeat(200)}${']'.repeat(200)}`,
    'yaml-syntax',
  ],
  ['brackets that close without indentation', `x-a: [\n${' [\n],\n'.repeat(100_000)}]`, 'missing-key'],
  ['an open bracket before many', `x-a: [\n${' [\n ],\n'.repeat(30_000)}`, 'yaml-syntax'],
  ['tags in a row', '! '.repeat(300_000), 'yaml-syntax'],
  ['variables without end', `name: "${'${A:'.repeat(many)}"`, 'too-many-findings'],
  ['unset variables', `name: "${'${A} '.repeat(many)}"`, 'too-many-findings'],
  ['unknown keys', `name: a\ntools:\n${'  - {naem: 1}\n'.repeat(many)}`, 'too-many-findings'],
  ['one key again and again', 'name: a\n'.repeat(many), 'too-many-findings'],
  ['documents', '---\n'.repeat(many), 'several-documents'],
  [
    'an alias again and again',
    `name: a\nx-a: &a [1]\nx-b: [${'*a, '.repeat(many)}]\nrouters: [{server: s, prefix: /a}]\nservers: [{name: s}]`,
    undefined,
  ],
  [
    'a long text again and again',
    `name: a\nx-a: &a "${'b\n '.repeat(200_000)}\${C}"\nx-b: [${'*a, '.repeat(many)}]\nx-c:\n${'  *a : 1\n'.repeat(many)}`,
    'too-many-findings',
  ],
  [
    'comments of hashes',
    `x-a: [\n${`${'#'.repeat(200)}\n`.repeat(1000)}]\nx-b:\n${'#'.repeat(many)}`,
    'missing-key',
  ],
  ['a long line', `x-a: [\n${' '.repeat(1_000_000)}x ${'| '.repeat(500_000)}\n]\n`, 'missing-key'],
  [
    'tools that do not exist',
    `name: a\nrouters: [{server: s, prefix: /a}]\nservers: [{name: s, allowedTools: [${Array.from({ length: many }, (_, i) => `tool${i}x`)}]}]\ntools:\n${Array.from({ length: 3000 }, (_, i) => `- {name: tol${i}, endpoint: e}`).join('\n')}`,
    'dangling-tool',
  ],
  [
    'spaces before a line that is indented wrongly',
    `a:\n  b: 1\n c${' '.repeat(100_000)}d\n e: 1\n`,
    'yaml-syntax',
  ],
  [
    'more rules than a router may have',
    `name: a\nservers: [{name: s}]\nrouters:\n- {server: s, prefix: /a, authorize: {rules: [${lines((i) => `{tools: [a${i}]},`)}]}}`,
    'rule-without-effect',
  ],
  [
    'rules that name unknown tools',
    `name: a\nservers: [{name: s}]\nrouters:\n- {server: s, prefix: /a, authorize: {rules: [{tools: [${lines((i) => `axx${i},`)}]}]}}\ntools:\n${lines((i) => `- {name: bxxa${i}, endpoint: /}\n`)}`,
    'rule-without-effect',
  ],
  [
    'a list of servers that do not exist',
    `name: a\nservers: [{name: s}]\nrouters:\n- prefix: /a\n  server: [${lines((i) => `s${i},`)}]`,
    'dangling-server',
  ],
  [
    'logins of servers with a router each',
    `name: a\nservers:\n${lines((i) => `- {name: s${i}, credentials: {type: tokenExchange, issuer: https://a.example, clientId: a, clientSecret: b}}\n`, 1500)}routers:\n${lines((i) => `- {server: s${i}, prefix: /t${i}}\n`, 1500)}`,
    'too-many-findings',
  ],
  [
    'routers for pages, and tools that forward no login',
    `name: a\nservers: [{name: s}]\nrouters:\n${lines((i) => `- {server: s, prefix: /t${i}, cors: {allowOrigins: [https://a.example]}}\n`, 2000)}tools:\n${lines((i) => `- {name: a${i}, endpoint: /${'x'.repeat(100)}}\n`, 2000)}`,
    undefined,
  ],
]

function lines(line: (i: number) => string, count = 4000): string {
  return Array.from({ length: count }, (_, i) => line(i)).join('')
}

describe('files made to be slow end', () => {
  for (const [name, text, code] of cases) {
    test(name, () => {
      const read = readConfiguration({ file: 'a.yaml', text }, {})
      assert.equal([...read.findings, ...checkTogether([read])][0]?.code, code)
    })
  }
})
