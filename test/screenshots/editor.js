// Runs in the browser: CodeMirror with what the language server found.
import { yaml } from '@codemirror/lang-yaml'
import { lintGutter, openLintPanel, setDiagnostics } from '@codemirror/lint'
import { oneDark } from '@codemirror/theme-one-dark'
import { basicSetup, EditorView } from 'codemirror'

const { text, found } = JSON.parse(document.querySelector('#input').textContent)
const isDark = matchMedia('(prefers-color-scheme: dark)').matches
const view = new EditorView({
  doc: text,
  parent: document.body,
  extensions: [basicSetup, yaml(), lintGutter(), isDark ? oneDark : []],
})
const at = ({ line, character }) => view.state.doc.line(line + 1).from + character
const diagnostics = found.map(({ message, range }) => ({
  from: at(range.start),
  to: at(range.end),
  severity: 'error',
  message,
}))
view.dispatch(setDiagnostics(view.state, diagnostics))
openLintPanel(view)
view.focus()
