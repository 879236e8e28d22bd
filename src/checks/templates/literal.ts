import type { Node, Tree } from '../../template/index.ts'
import type { Subject } from '../subjects.ts'
import { field, type Report } from './names.ts'
import { namesOf } from './usage.ts'
import type { Ref } from './walk.ts'

/** A name in the braces of other languages, or behind a colon in a path; with `.` it can be nothing else. */
const IN_URL =
  /\$?\{\s*([\w-]+)\s*\}|<([\w-]+)>|(?<=\/):([A-Za-z_][\w-]*)(?=[/?#]|$)|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g
const IN_TEXT = /\{\s*([\w-]+)\s*\}|\$\{\s*([\w-]+)\s*\}|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g
/** Braces have a meaning of their own in JSON and in what it carries, such as GraphQL. */
const IN_BODY = /\$\{\s*([\w-]+)\s*\}|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g

/**
 * Text that is sent as it stands, but was most likely meant otherwise: placeholders of other languages that name
 * an argument, and spaces in a URL.
 */
export function checkLiteralText(tree: Tree, subject: Subject, refs: readonly Ref[], report: Report): void {
  const { place, phase, args, path } = subject
  const isUrl = place === 'url'
  if (phase !== 'request' && phase !== 'prompt' && phase !== 'response') return
  const pattern = isUrl ? IN_URL : place === 'header' || phase === 'prompt' ? IN_TEXT : IN_BODY
  const nodes = texts(tree)
  for (const { text, start } of nodes) {
    for (const { index, 0: whole, ...groups } of text.matchAll(pattern)) {
      const name = Object.entries(groups).find(
        ([key, value]) => /^\d+$/.test(key) && value !== undefined,
      )?.[1]
      if (typeof name !== 'string' || !args.schemas.has(name)) continue
      // That the endpoint does not hold it is told as such.
      if (isUrl && args.inPath.has(name) && !namesOf(refs, args).names.has(name)) continue
      const span = { start: start + index, end: start + index + whole.length }
      const message = `\`${whole}\` is sent as it stands, although there is an argument \`${name}\``
      report(
        'template-literal',
        span,
        message,
        `Write \`{{${field('.Args', name)}}}\` instead of \`${whole}\``,
      )
    }
  }
  if (!isUrl || path.at(-1) !== 'endpoint') return
  for (const { text, start } of nodes)
    for (const { index, 0: blank } of text.matchAll(/\s+/g)) {
      const at = start + index
      // A broken action, made harmless.
      if (!subject.source.startsWith(blank, at)) continue
      const isEnd = subject.source.slice(0, at).trim() === '' || subject.source.slice(at).trim() === ''
      if (isEnd || /\{\{[^{}]*:?=[^{}]*\}\}$/.test(subject.source.slice(Math.max(0, at - 200), at))) continue
      const message = blank.includes('\n') ? 'a line break inside of the URL' : 'a space inside of the URL'
      report('template-literal', { start: at, end: at + blank.length }, message, 'Remove it, or write `%20`')
    }
}

function texts({ root, definitions }: Tree): Extract<Node, { type: 'text' }>[] {
  const found: Extract<Node, { type: 'text' }>[] = []
  const gather = (list: readonly Node[]) => {
    for (const node of list) {
      if (node.type === 'text') found.push(node)
      else if ('list' in node) {
        gather(node.list)
        gather(node.elseList ?? [])
      }
    }
  }
  for (const list of new Set([root, ...definitions.values()])) gather(list)
  return found
}
