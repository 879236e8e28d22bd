// The site that `npm run site` builds of the pages in docs/, and of a few from the top of the repository.
import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { drawMermaid, linkedFiles, literally, OUTSIDE, ROOT, relink, slugify } from './markdown.ts'

/** A group of the sidebar: page and title in turns. */
function group(text: string, ...pages: [page: string, title: string][]): DefaultTheme.SidebarItem {
  return {
    text,
    items: pages.map(([page, title]) => ({ text: title, link: `/${page}` })),
    collapsed: text !== 'Start',
  }
}

const sidebar = [
  group(
    'Start',
    ['', 'Install'],
    ['concepts', 'Concepts'],
    ['guides/first-api', 'Your first API by hand'],
    ['guides/apis', 'Put an API behind it'],
    ['guides/mcp-servers', 'Put MCP servers behind it'],
    ['connect', 'Connect clients'],
    ['guides/troubleshoot', 'Troubleshoot'],
  ),
  group(
    'Tools',
    ['tools', 'Tools'],
    ['templates', 'Templates'],
    ['import', 'Importing'],
    ['shaping', 'Shaping responses'],
    ['async', 'Slow operations'],
    ['discovery', 'Discovery'],
    ['skills', 'Skills'],
  ),
  group(
    'MCP servers',
    ['proxying', 'Proxying'],
    ['one-endpoint', 'One endpoint'],
    ['guides/migrate', 'Migrate'],
    ['publish', 'Publishing'],
  ),
  group(
    'Security',
    ['guides/secrets', 'Logins and secrets'],
    ['guides/logins', 'Hosted servers'],
    ['guides/expose', 'Expose it safely'],
    ['authentication', 'Authentication'],
    ['authorization', 'Authorization'],
    ['credentials', 'Credentials'],
    ['outbound', 'Outbound connections'],
    ['limits', 'Limits'],
    ['audit', 'Audit'],
    ['guides/security', 'Security model'],
  ),
  group(
    'Operation',
    ['guides/ci', 'CI'],
    ['guides/containers', 'Containers'],
    ['deploying', 'Deploying'],
    ['stdio', 'Standard input and output'],
    ['console', 'Console'],
    ['reload', 'Reload'],
    ['stores', 'Stores'],
    ['workers', 'Workers'],
    ['replicas', 'Replicas'],
    ['telemetry', 'Telemetry'],
  ),
  group(
    'Reference',
    ['commands', 'Commands'],
    ['configuration', 'Configuration'],
    ['settings', 'Settings'],
    ['validate', 'Validating'],
    ['check-endpoints', 'Checking endpoints'],
    ['lint', 'Lint configuration'],
    ['findings', 'Findings'],
    ['compare', 'Compare'],
    ['changelog', 'Changelog'],
  ),
  group(
    'For contributors',
    ['contributing', 'Contributing'],
    ['architecture', 'Architecture'],
    ['glossary', 'Glossary'],
    ['refusals', 'Refusals'],
    ['benchmarks', 'Benchmarks'],
    ['security', 'Reporting vulnerabilities'],
  ),
]

/** A leaf. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2f9e6e"/>' +
  '<path d="M7 25C7 12 14 7 26 7c0 12-5 18-15 18l6-9" fill="none" stroke="#fff" stroke-width="3" stroke-linejoin="round"/></svg>'

export default defineConfig({
  title: 'plantgw',
  description: 'HTTP APIs and MCP servers as MCP endpoints, from one YAML file per service',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  srcDir: '..',
  srcExclude: ['!(docs|deploy|CONTRIBUTING.md|SECURITY.md|CHANGELOG.md)/**', 'README.md'],
  rewrites: {
    'docs/:page*': ':page*',
    ...OUTSIDE,
  },
  outDir: join(ROOT, 'results/site'),
  cacheDir: join(ROOT, 'node_modules/.cache/vitepress'),
  markdown: {
    anchor: { slugify },
    config(md) {
      relink(md)
      drawMermaid(md)
      literally(md)
    },
  },
  ignoreDeadLinks: 'localhostLinks',
  vite: { publicDir: false, build: { target: 'es2022' } },
  themeConfig: { sidebar, outline: [2, 3], search: { provider: 'local' } },
  buildEnd({ outDir }) {
    for (const file of linkedFiles) {
      mkdirSync(dirname(join(outDir, file)), { recursive: true })
      cpSync(join(ROOT, file), join(outDir, file))
    }
  },
})
