import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replaceEnv } from '../../src/config/yaml/env.ts'

const env = { A: 'one', EMPTY: '', B_2: '${A}' }
const cases: [text: string, out: string][] = [
  ['${A}', 'one'],
  ['x${A}y${A}z', 'xoneyonez'],
  ['${EMPTY:default}', ''],
  ['${UNSET:default}', 'default'],
  ['${UNSET:}', ''],
  ['${UNSET:http://localhost:5235}', 'http://localhost:5235'],
  ['$${A}', '${A}'],
  ['$$${A}', '$${A}'],
  ['${B_2}', '${A}'],
  ['$A ${ ${} {{.Args.A}} $', '$A ${ ${} {{.Args.A}} $'],
  ['${a b}', '${a b}'],
  ['${constructor:own}', 'own'],
  ['${UNSET:a$b}', 'a$b'],
]

for (const [text, out] of cases) {
  test(`${text} becomes ${out}`, () => assert.equal(replaceEnv(text, env).text, out))
}

test('names what is unset, where it stands', () => {
  const { text, problems } = replaceEnv('a ${UNSET} b', env)
  assert.equal(text, 'a ${UNSET} b')
  assert.deepEqual(problems, [{ kind: 'unset', name: 'UNSET', from: 2, to: 10 }])
})

test('what looks like a variable is a problem and stays', () => {
  for (const text of ['${ A }', '${A.b}', '${A-x}', '${A:${UNSET}}']) {
    const replaced = replaceEnv(text, env)
    assert.equal(replaced.text, text)
    assert.equal(replaced.problems[0]!.kind, 'syntax', text)
  }
  assert.deepEqual(replaceEnv('${{.Args.x}} ${} $ {A}', env).problems, [])
})
