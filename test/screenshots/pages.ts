import { join } from 'node:path'
import { buildSync } from 'esbuild'
import type { Diagnostic } from '../support/language-server.ts'
import { ROOT } from '../support/process.ts'

const STYLE = `
body { margin: 0; background: #fff; color: #1f2328; font: 15px/1.5 "DejaVu Sans Mono", monospace }
pre { margin: 0; padding: 20px 24px; font: inherit; white-space: pre-wrap }
.cm-editor { height: 100vh; font-size: 15px }
.cm-editor .cm-scroller { font-family: "DejaVu Sans Mono", monospace }
.b { font-weight: bold } .d { opacity: .6 } .red { color: #b3261e } .cyan { color: #0b6b7a } .yellow { color: #8a5a00 }
@media (prefers-color-scheme: dark) {
  body { background: #16181d; color: #d7dae0 }
  .red { color: #ff8a80 } .cyan { color: #6fd3e3 } .yellow { color: #f2c36b }
}`

function page(body: string): string {
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><body>${body}`
}

/** The classes that a colour or style of a terminal sets; 22 and 39 end them. */
const CLASSES: Readonly<Record<string, string>> = { 1: 'b', 2: 'd', 31: 'red', 33: 'yellow', 36: 'cyan' }

/** What a terminal shows after a command. */
export function terminalPage(command: string, output: string): string {
  const on = new Set<string>()
  const spans = output.split(/\x1b\[(\d+)m/).map((part, i) => {
    if (i % 2 === 0) return part && `<span class="${[...on].join(' ')}">${escapeHtml(part)}</span>`
    if (CLASSES[part]) on.add(CLASSES[part])
    else for (const name of part === '22' ? ['b', 'd'] : Object.values(CLASSES).slice(2)) on.delete(name)
    return ''
  })
  return page(`<pre>$ ${escapeHtml(command)}\n${spans.join('')}</pre>`)
}

/** An editor that shows a text with what the language server found in it; needs `editor.js` beside the page. */
export function editorPage(text: string, found: readonly Diagnostic[]): string {
  const input = JSON.stringify({ text, found }).replaceAll('<', '\\u003c')
  return page(`<script type="application/json" id="input">${input}</script><script src="editor.js"></script>`)
}

/** Writes the program of the editor for a browser. */
export function buildEditor(outdir: string): void {
  buildSync({ entryPoints: [join(ROOT, 'test/screenshots/editor.js')], bundle: true, outdir })
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
