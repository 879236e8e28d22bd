import { type Document, parseDocument } from 'yaml'
import { LAYOUT } from './yaml.ts'

/** Layouts of files, that of imports first. */
const LAYOUTS = [2, 4].flatMap((indent) =>
  [true, false].flatMap((indentSeq) =>
    [true, false].map((flowCollectionPadding) => ({ ...LAYOUT, indent, indentSeq, flowCollectionPadding })),
  ),
)

/** Serializes a document like the original text: layout, line ends and byte order mark. */
export function writtenLike(text: string, document: Document): string {
  const plain = text.replaceAll('\r\n', '\n')
  const lines = new Set(plain.split('\n'))
  const before = parseDocument(plain, { logLevel: 'error', prettyErrors: false })
  const alike = (layout: (typeof LAYOUTS)[number]) =>
    before
      .toString(layout)
      .split('\n')
      .filter((line) => lines.has(line)).length
  const [best] = LAYOUTS.map((layout) => ({ layout, lines: alike(layout) })).sort((a, b) => b.lines - a.lines)
  const made = document.toString(best!.layout)
  const ended = text.includes('\r\n') ? made.replaceAll('\n', '\r\n') : made
  return text.startsWith('\uFEFF') ? `\uFEFF${ended}` : ended
}
