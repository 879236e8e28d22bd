// The site that `npm run site` builds of the pages in docs/, and of a few from the top of the repository.
import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { drawMermaid, linkedFiles, literally, OUTSIDE, ROOT, relink, slugify } from './markdown.ts'

/** A group of the sidebar: page and title in turns. */
function group(text: string, ...pages: [page: string, title: string][]): DefaultTheme.SidebarItem {
  return { text, items: pages.map(([page, title]) => ({ text: title, link: `/${page}` })) }
}

const sidebar = [
  group(
    'Tasks',
    ['', 'Start'],
    ['guides/apis', 'Put an API behind it'],
    ['guides/mcp-servers', 'Put MCP servers behind it'],
    ['one-endpoint', 'One endpoint'],
    ['connect', 'Connect clients'],
    ['stdio', 'Standard input and output'],
    ['guides/secrets', 'Logins and secrets'],
    ['guides/expose', 'Expose it safely'],
    ['guides/ci', 'CI'],
    ['guides/containers', 'Containers'],
    ['deploying', 'Deploying'],
    ['workers', 'Workers'],
    ['replicas', 'Replicas'],
    ['guides/migrate', 'Migrate'],
    ['guides/troubleshoot', 'Troubleshoot'],
    ['guides/security', 'Security model'],
    ['compare', 'Compare'],
    ['benchmarks', 'Benchmarks'],
  ),
  group(
    'Tools',
    ['tools', 'Tools'],
    ['templates', 'Templates'],
    ['import', 'Importing'],
    ['shaping', 'Shaping responses'],
    ['async', 'Slow operations'],
    ['skills', 'Skills'],
    ['discovery', 'Discovery'],
  ),
  group(
    'Servers and callers',
    ['proxying', 'Proxying'],
    ['credentials', 'Credentials'],
    ['publish', 'Publishing'],
    ['outbound', 'Outbound connections'],
    ['authentication', 'Authentication'],
    ['authorization', 'Authorization'],
    ['limits', 'Limits'],
    ['audit', 'Audit'],
  ),
  group(
    'Operation',
    ['validate', 'Validating'],
    ['check-endpoints', 'Checking endpoints'],
    ['reload', 'Reload'],
    ['stores', 'Stores'],
    ['telemetry', 'Telemetry'],
  ),
  group(
    'Reference',
    ['configuration', 'Configuration'],
    ['settings', 'Settings'],
    ['lint', 'Lint configuration'],
    ['findings', 'Findings'],
    ['refusals', 'Refusals'],
    ['glossary', 'Glossary'],
  ),
  group(
    'Project',
    ['architecture', 'Architecture'],
    ['contributing', 'Contributing'],
    ['security', 'Security'],
    ['changelog', 'Changelog'],
  ),
]

export default defineConfig({
  title: 'plantgw',
  description: 'HTTP APIs and MCP servers as MCP endpoints, from one YAML file per service',
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
