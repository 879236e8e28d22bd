import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { follow, guide, stepsOf } from '../support/guide.ts'
import { ROOT } from '../support/process.ts'

for (const name of readdirSync(join(ROOT, 'docs/guides')).filter((each) => each.endsWith('.md')))
  test(`docs/guides/${name}: what a reader writes and types does what the page says`, async (t) => {
    const page = guide(name)
    const commands = stepsOf(page).flatMap((step) => ('line' in step ? [step.line] : []))
    assert.ok(
      commands.some((line) => line.startsWith('plantgw ')),
      'a guide has an example that runs',
    )
    await follow(t, page)
  })
