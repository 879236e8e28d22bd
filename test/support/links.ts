/** Links of Markdown pages: to files and to headings. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Folders of a checkout that hold no pages of ours. */
const PASSED_OVER = /^(?:node_modules|results|test|dist|\.git)(?:\/|$)/

/** Paths of all Markdown pages below a folder. */
export function pagesBelow(root: string, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name
    if (PASSED_OVER.test(path)) return []
    if (entry.isDirectory()) return pagesBelow(root, path)
    return path.endsWith('.md') ? [path] : []
  })
}

/** The links of a page below `root` that lead nowhere: to no file, or to no heading of a page. */
export function deadLinks(root: string, page: string): string[] {
  const targets = [...prose(join(root, page)).matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(
    ([, target]) => target!,
  )
  return targets.filter((target) => !leadsSomewhere(root, page, target)).map((target) => `${page}: ${target}`)
}

/** A page without its fenced blocks. */
function prose(file: string): string {
  return readFileSync(file, 'utf8').replace(/^```.*?^```$/gms, '')
}

function leadsSomewhere(root: string, page: string, target: string): boolean {
  const [path, heading] = target.split('#') as [string, string?]
  const file = path ? join(root, dirname(page), path) : join(root, page)
  if (!existsSync(file)) return false
  return heading === undefined || (statSync(file).isFile() && anchors(file).has(heading))
}

/** As GitHub and npm name the headings of a page; the second of one name has `-1` behind it. */
function anchors(file: string): Set<string> {
  const found = new Set<string>()
  for (const [, title] of prose(file).matchAll(/^#+ (.*)$/gm)) {
    const anchor = title!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-')
    let name = anchor
    for (let i = 1; found.has(name); i++) name = `${anchor}-${i}`
    found.add(name)
  }
  return found
}
