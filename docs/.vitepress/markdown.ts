// How the site reads the Markdown of the repository.
import { statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MarkdownRenderer } from 'vitepress'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Pages from outside docs/, and where the site has them. */
export const OUTSIDE: Record<string, string> = {
  'deploy/README.md': 'deploying.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'CHANGELOG.md': 'changelog.md',
}
/** Files that pages link to and that are no pages: the site offers them as they are. */
export const linkedFiles = new Set<string>()

type State = Parameters<Parameters<MarkdownRenderer['core']['ruler']['push']>[1]>[0]
type Token = State['tokens'][number]

/** Links lead where the site has the page; a link to another file offers that file, and one to a folder is its text only. */
export function relink(md: MarkdownRenderer): void {
  md.core.ruler.push('relink', (state) => {
    const page = posix.relative(ROOT, state.env.realPath ?? state.env.path)
    for (const { children } of state.tokens)
      children?.forEach((token, i) => {
        const href = token.type === 'link_open' ? token.attrGet('href') : null
        if (href && !/^(?:[a-z]+:|#)/.test(href)) relinkOne(state, children, i, page, href)
      })
  })
}

function relinkOne(state: State, tokens: Token[], i: number, page: string, href: string): void {
  const [path, heading] = href.split('#') as [string, string?]
  const target = posix.join(posix.dirname(page), decodeURI(path))
  if (target.endsWith('.md')) {
    tokens[i]?.attrSet('href', `/${sitePath(target)}${heading === undefined ? '' : `#${heading}`}`)
    return
  }
  const isFile = statSync(join(ROOT, target)).isFile()
  if (isFile) linkedFiles.add(target)
  const close = tokens.findIndex((token, j) => j > i && token.type === 'link_close')
  const to = posix.relative(posix.dirname(sitePath(page)), target)
  tokens[i] = html(state, isFile ? `<a href="${to}" target="_blank">` : '')
  tokens[close] = html(state, isFile ? '</a>' : '')
}

/** The path of a page on the site. The README is for the repository: the site has the index in its place. */
function sitePath(page: string): string {
  return page === 'README.md' ? 'index.md' : (OUTSIDE[page] ?? page.replace(/^docs\//, ''))
}

function html({ Token }: State, content: string): Token {
  return Object.assign(new Token('html_inline', '', 0), { content })
}

/** What stands between `{{` and `}}` in these pages is text, never an expression of Vue. */
export function literally(md: MarkdownRenderer): void {
  const render = md.render.bind(md)
  md.render = (source, env) => `<div v-pre>\n${render(source, env)}\n</div>`
}

/** Diagrams are drawn in the browser, by the theme. */
export function drawMermaid(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules
  md.renderer.rules.fence = (tokens, i, ...rest) =>
    tokens[i]?.info.trim() === 'mermaid'
      ? `<pre class="diagram">${md.utils.escapeHtml(tokens[i].content)}</pre>\n`
      : (fence?.(tokens, i, ...rest) ?? '')
}

/** As GitHub names headings, so that links hold in both places. */
export function slugify(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}
