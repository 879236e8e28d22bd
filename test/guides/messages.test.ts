import assert from 'node:assert/strict'
import { test } from 'node:test'
import ts from 'typescript'
import { CODES } from '../../src/findings/index.ts'
import { parseSource, sourceFiles } from '../guards/house.ts'
import { guide } from '../support/guide.ts'

/** Every text of `src` as a reader sees it, with `…` for what is filled in. */
function sourceTexts(): string[] {
  const found: string[] = []
  for (const source of sourceFiles().map(parseSource)) {
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteralLike(node)) found.push(node.text)
      if (ts.isTemplateExpression(node))
        found.push(node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join(''))
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found
}

test('every message of the page for troubleshooting is one that the program has', () => {
  const texts = sourceTexts()
  const messages = [...guide('troubleshoot.md').matchAll(/^### `(.+)`$/gm)].map(([, message]) => message!)
  assert.ok(messages.length > 20)
  // A part between two values is in one text of the program.
  const unknown = messages.filter((message) => !texts.some((text) => text.includes(message)))
  assert.deepEqual(unknown, [])
})

test('every finding of the guides exists', () => {
  for (const [, code] of guide('troubleshoot.md').matchAll(/findings\.md#([\w-]+)/g))
    assert.ok(code! in CODES, code)
})
