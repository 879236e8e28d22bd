import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from '../../src/json/index.ts'
import { isPlain, visible } from '../../src/mcp/index.ts'
import { visibleText } from '../../src/mcp/visible.ts'

test('no JSON text passes as plain that holds a character which is hidden', () => {
  for (let code = 0; code < 0x1_0000; code++) {
    const value = { description: `a${String.fromCharCode(code)}b` }
    const shown = stringify(visible(value))
    const text = stringify(value)
    if (isPlain(text)) assert.equal(text, shown, `U+${code.toString(16)}`)
    assert.equal(visibleText(value), shown)
  }
  assert.equal(visibleText({ description: 'a\bb\fc\u0007' }), '{"description":"abc"}')
})
