import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkTogether, readConfiguration } from '../../src/checks/index.ts'

/** Messages about names that are there twice. @param args of the tool `x` @param own of the prompt `x` */
function repeated(args: readonly string[], own: readonly string[]): string[] {
  const text = JSON.stringify({
    name: 's',
    routers: [{ server: 's', prefix: '/s' }],
    servers: [{ name: 's' }],
    tools: [
      {
        name: 'x',
        description: 'Gets',
        method: 'GET',
        endpoint: 'https://example.com',
        args: args.map((name) => ({ name, position: 'query', type: 'string' })),
      },
    ],
    prompts: [
      { name: 'x', description: 'Asks', arguments: own.map((name) => ({ name })), promptResponse: [] },
    ],
  })
  const read = readConfiguration({ file: 's.yaml', text }, {})
  return checkTogether([read]).flatMap(({ code, message }) => (code === 'duplicate-name' ? [message] : []))
}

test('a tool and a prompt of one name may have arguments of one name', () => {
  assert.deepEqual(repeated(['a'], ['a']), [])
  assert.deepEqual(repeated(['a', 'b', 'b'], ['a', 'c', 'c']), [
    'two arguments of `x` have the name `b`',
    'two arguments of `x` have the name `c`',
  ])
})
