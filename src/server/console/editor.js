// The editor of a configuration; the build bundles it with CodeMirror. Only its page loads it.
import { yaml } from '@codemirror/lang-yaml'
import { syntaxHighlighting } from '@codemirror/language'
import { linter, lintGutter } from '@codemirror/lint'
import { keymap } from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import { basicSetup, EditorView } from 'codemirror'

const { send, showOutcome } = window
const edit = document.getElementById('edit')
const { place, text, version: opened } = JSON.parse(edit.dataset.given)
const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
let version = opened
let saved
let isSaving = false

const colors = {
  '&': { color: 'var(--text)', backgroundColor: 'var(--back)', border: '1px solid var(--line)' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--pane)', color: 'var(--soft)', borderColor: 'var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--pane)' },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--back)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    maxWidth: 'min(40rem, 90vw)',
  },
  // Instead of images, which the policy of the page forbids.
  '.cm-lintRange': { backgroundImage: 'none !important', textDecoration: 'underline wavy var(--soft)' },
  '.cm-lintRange-error': { textDecorationColor: 'var(--bad)' },
  '.cm-lint-marker': { content: 'normal !important', color: 'var(--soft)' },
  '.cm-lint-marker::before': { content: '"●"' },
  '.cm-lint-marker-error': { color: 'var(--bad)' },
  '.cm-scroller': { maxHeight: '70vh', fontFamily: 'ui-monospace, monospace', fontSize: '13px' },
}

/** What the console is sent; lines end as they did. */
const bodyOf = (doc) => JSON.stringify({ place, version, text: doc.sliceString(0, doc.length, lineEnd) })

async function lint({ state }) {
  const { ok, message, findings } = await send('check', bodyOf(state.doc))
  if (!ok) {
    showOutcome({ ok, message })
    return []
  }
  const at = ({ line, column }) => {
    const found = state.doc.line(Math.min(line, state.doc.lines))
    return Math.min(found.from + column - 1, found.to)
  }
  const first = { line: 1, column: 1 }
  return findings.map(({ severity, message, hint, range = { start: first, end: first } }) => ({
    from: at(range.start),
    to: Math.max(at(range.start), at(range.end)),
    severity,
    message: hint ? `${message}. ${hint}` : message,
  }))
}

/** @returns whether the key is used */
function save() {
  if (isSaving) return true
  isSaving = true
  const { doc } = view.state
  send('save', bodyOf(doc)).then((outcome) => {
    isSaving = false
    if (outcome.ok) {
      version = outcome.version
      saved = doc
    }
    showOutcome(outcome)
  })
  return true
}

/** Replaces a selection; browsers would keep its color in an attribute, which the policy of the page forbids. */
function replace(event, view) {
  const { state, composing } = view
  if (event.inputType !== 'insertText' || composing || state.selection.main.empty) return false
  view.dispatch(state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
  event.preventDefault()
  return true
}

const view = new EditorView({
  doc: text,
  parent: edit,
  extensions: [
    EditorView.cspNonce.of(edit.dataset.nonce),
    keymap.of([{ key: 'Mod-s', run: save }]),
    EditorView.domEventHandlers({ beforeinput: replace }),
    basicSetup,
    yaml(),
    syntaxHighlighting(classHighlighter),
    lintGutter(),
    linter(lint),
    EditorView.lineWrapping,
    EditorView.theme(colors, { dark: matchMedia('(prefers-color-scheme: dark)').matches }),
    EditorView.contentAttributes.of({ 'aria-label': 'Text of the configuration' }),
  ],
})
saved = view.state.doc
document.getElementById('save').addEventListener('click', save)
document.getElementById('source').hidden = true
edit.hidden = false
addEventListener('beforeunload', (event) => {
  if (!view.state.doc.eq(saved)) event.preventDefault()
})
