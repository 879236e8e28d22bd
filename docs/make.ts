// Writes the generated pages of this folder; a test compares them with what is committed.
import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { dashboardFile } from '../deploy/grafana/dashboard.ts'
import { schemaOf } from '../src/config/index.ts'
import { commandsPage } from './commands.ts'
import { findingsPage } from './findings.ts'
import { refusalsPage } from './refusals.ts'
import { schemaPage } from './schema-page.ts'
import { templatesPage } from './templates.ts'
import { typesModule } from './types.ts'

/** Each generated page by its file name. */
export async function pages(): Promise<Record<string, string>> {
  return {
    'configuration.md': schemaPage(schemaOf('configuration'), 'configuration'),
    'settings.md': schemaPage(schemaOf('settings'), 'settings'),
    'lint.md': schemaPage(schemaOf('lint'), 'lint'),
    '../src/config/generated.ts': typesModule([
      schemaOf('configuration'),
      schemaOf('lint'),
      schemaOf('settings'),
    ]),
    'commands.md': await commandsPage(),
    'findings.md': findingsPage(),
    '../deploy/grafana/dashboards/plantgw.json': dashboardFile(),
    'refusals.md': refusalsPage(),
    'templates.md': templatesPage(),
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [name, text] of Object.entries(await pages())) {
    writeFileSync(new URL(name, import.meta.url), text)
    console.log(`docs/${name}`)
  }
}
