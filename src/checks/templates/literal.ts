import type { TextNode, Tree } from '../../template/index.ts'
import type { Subject } from '../subjects.ts'
import { field } from './known-names.ts'
import { eachNode } from './nodes.ts'
import type { TemplateReporter } from './report.ts'
import { namesOf } from './usage.ts'
import type { Ref } from './walk.ts'

/** A name in the braces of other languages, or behind a colon in a path; with `.` it can be nothing else. */
const IN_URL =
  /\$?\{\s*([\w-]+)\s*\}|<([\w-]+)>|(?<=\/):([A-Za-z_][\w-]*)(?=[/?#]|$)|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g
const IN_TEXT = /\{\s*([\w-]+)\s*\}|\$\{\s*([\w-]+)\s*\}|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g
/** Braces have a meaning of their own in JSON and in what it carries, such as GraphQL. */
const IN_BODY = /\$\{\s*([\w-]+)\s*\}|\$?\{\s*\.?Args\.([\w-]+)\s*\}/g

/**
 * Text that is sent unchanged, but was most likely meant otherwise: placeholders of other languages that name
 * an argument, and spaces in a URL.
 */
export function checkLiteralText(
  tree: Tree,
  subject: Subject,
  refs: readonly Ref[],
  report: TemplateReporter,
): void {
  const { place, phase, args, path } = subject
  const isUrl = place === 'url'
  if (phase !== 'request' && phase !== 'prompt' && phase !== 'response') return
  const pattern = isUrl ? IN_URL : place === 'header' || phase === 'prompt' ? IN_TEXT : IN_BODY
  const nodes: TextNode[] = []
  eachNode(tree, (node) => {
    if (node.type === 'text') nodes.push(node)
  })
  for (const { text, start } of nodes) {
    for (const { index, 0: whole, ...groups } of text.matchAll(pattern)) {
      const name = Object.entries(groups).find(
        ([key, value]) => /^\d+$/.test(key) && value !== undefined,
      )?.[1]
      if (typeof name !== 'string' || !args.schemas.has(name)) continue
      // That the endpoint does not hold it is reported as such.
      if (isUrl && args.inPath.has(name) && !namesOf(refs, args).names.has(name)) continue
      report({
        code: 'template-literal',
        at: { start: start + index, end: start + index + whole.length },
        message: `\`${whole}\` is sent unchanged, although there is an argument \`${name}\``,
        hint: `Write \`{{${field('.Args', name)}}}\` instead of \`${whole}\``,
      })
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
      report({
        code: 'template-literal',
        at: { start: at, end: at + blank.length },
        message: blank.includes('\n') ? 'a line break inside the URL' : 'a space inside the URL',
        hint: 'Remove it, or write `%20`',
      })
    }
}
