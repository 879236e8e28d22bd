import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { readConfiguration } from '../../src/checks/index.ts'
import { sample } from '../support/rest.ts'

const read = (text: string, env = {}) => readConfiguration({ file: 'a.yaml', text }, env)
const slice = (text: string, range: { start: { offset: number }; end: { offset: number } } | undefined) =>
  range && text.slice(range.start.offset, range.end.offset)

const STYLES = ['PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'] as const

/** Words of letters that need an escape or not, with marks that are to be found again. */
const words = fc.array(
  fc.oneof(
    fc.constantFrom(
      ...`a bc ' " \\ : # {{.Args.x}} 😀`.split(' '),
      ' ',
      '  ',
      '\n',
      '\n\n',
      '\t',
      'é',
      '日本',
    ),
    fc.string({ maxLength: 4 }),
  ),
  { maxLength: 20 },
)

describe('locate', () => {
  for (const style of STYLES) {
    test(`finds a part of a scalar that is written as ${style}`, () => {
      let exact = 0
      fc.assert(
        fc.property(
          words,
          words,
          fc.boolean(),
          fc.constantFrom(20, 80, 0),
          (before, after, crlf, lineWidth) => {
            const value = `${before.join('')}MARK${after.join('')}`
            let text = stringify(
              { name: 'a', tools: [{ name: 't', endpoint: 'e', requestBody: value }] },
              { defaultStringType: style, lineWidth },
            )
            if (crlf && style !== 'QUOTE_DOUBLE') text = text.replaceAll('\n', '\r\n')
            const { locate, configuration } = read(text)
            // As read: the writer folds some white space that a reader cannot bring back.
            const start = configuration!.tools[0]!.requestBody!.indexOf('MARK')
            const path = ['tools', 0, 'requestBody']
            const whole = locate(path)
            assert.ok(whole, text)
            const part = locate(path, start, start + 4)!
            // An escaped line break may stand in the middle of a word.
            const found = slice(text, part)?.replace(/\\\r?\n[ \t]*\\?/, '')
            // Either the very letters, or the whole scalar; never another place.
            if (found === 'MARK') exact++
            else assert.equal(slice(text, part), slice(text, whole), text)
          },
        ),
        { numRuns: sample(300), seed: 7, includeErrorInReport: true },
      )
      assert.ok(exact >= 0.85 * sample(300), `${exact} of ${sample(300)} are exact`)
    })
  }

  test('maps through a replaced variable', () => {
    const text = 'name: a\ntools:\n  - name: t\n    endpoint: "http://${HOST:localhost}/{{.Args.x}}"\n'
    const { locate, configuration } = read(text, { HOST: 'example.com' })
    const { endpoint } = configuration!.tools[0]!
    assert.equal(endpoint, 'http://example.com/{{.Args.x}}')
    const at = (part: string) => {
      const start = endpoint.indexOf(part)
      return slice(text, locate(['tools', 0, 'endpoint'], start, start + part.length))
    }
    assert.equal(at('{{.Args.x}}'), '{{.Args.x}}')
    assert.equal(at('http'), 'http')
    assert.equal(at('example.com'), '${HOST:localhost}')
    assert.equal(at('ample'), '${HOST:localhost}')
    assert.equal(at('/example.com/'), '/${HOST:localhost}/')
  })

  test('finds the end of a scalar and places of no length', () => {
    const text = "name: 'it''s'\n"
    const { locate } = read(text)
    assert.equal(locate(['name'], 4, 4)?.start.column, 13)
    assert.equal(slice(text, locate(['name'], 2, 3)), "''")
    assert.equal(slice(text, locate(['name'], 3, 4)), 's')
    assert.equal(slice(text, locate(['name'], 9, 12)), "'it''s'")
  })

  test('follows aliases and merged keys', () => {
    const text =
      'name: a\nx-base: &base {server: one, prefix: /one}\nrouters:\n  - <<: *base\n    prefix: /two\n  - *base\n'
    const { locate } = read(text)
    assert.equal(slice(text, locate(['routers', 0, 'server'])), 'one')
    assert.equal(locate(['routers', 0, 'prefix'])?.start.line, 5)
    assert.equal(locate(['routers', 1, 'prefix'])?.start.line, 2)
    assert.equal(slice(text, locate.key(['routers', 0, 'prefix'])), 'prefix')
  })

  test('has the key where the value is empty, and nothing for what is not there', () => {
    const text = 'name:\nrouters: []\n'
    const { locate } = read(text)
    assert.equal(slice(text, locate(['name'])), 'name')
    assert.equal(locate(['tools']), undefined)
    assert.equal(locate(['routers', 0, 'server']), undefined)
    assert.equal(locate.key(['constructor']), undefined)
  })
})
