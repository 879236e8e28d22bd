import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { pages } from '../../docs/make.ts'
import { schemaOf } from '../../src/config/index.ts'
import { CODES } from '../../src/findings/index.ts'

for (const [name, text] of Object.entries(await pages())) {
  test(`docs/${name} is what npm run docs makes`, () => {
    const file = new URL(`../../docs/${name}`, import.meta.url)
    assert.ok(existsSync(file), 'missing: run npm run docs')
    assert.equal(readFileSync(file, 'utf8'), text, 'stale: run npm run docs')
  })
}

test('docs/findings.md has a section for each code and no other', () => {
  const page = readFileSync(new URL('../../docs/findings.md', import.meta.url), 'utf8')
  const sections = [...page.matchAll(/^## (.*)$/gm)].map(([, code]) => code)
  assert.deepEqual(sections, Object.keys(CODES))
})

for (const name of ['configuration', 'settings'] as const) {
  test(`every field of the ${name} schema is described, with a default or an example where it is a value`, () => {
    const poor: string[] = []
    const visit = (value: unknown, path: string) => {
      if (typeof value !== 'object' || value === null) return
      const { properties, title, additionalProperties, patternProperties } = value as Record<string, unknown>
      if (typeof title === 'string' && properties) {
        if (additionalProperties !== false || !patternProperties) poor.push(`${path}: open`)
        for (const [key, field] of Object.entries(properties as Record<string, Record<string, unknown>>)) {
          const value = field.$ref === undefined && field.properties === undefined
          const shown = field.default !== undefined || field.examples !== undefined || field.type === 'array'
          if (value && !field.description) poor.push(`${title}.${key}: description`)
          if (value && !shown) poor.push(`${title}.${key}: example`)
        }
      }
      for (const [key, member] of Object.entries(value)) visit(member, `${path}/${key}`)
    }
    visit(schemaOf(name), '#')
    assert.deepEqual(poor, [])
  })
}

test('both schemas say the same of limits and of variables', () => {
  const [configuration, settings] = [schemaOf('configuration').$defs!, schemaOf('settings').$defs!]
  // Those of the settings have what concerns the process besides.
  const { properties } = settings.ProcessLimits!
  assert.deepEqual({ ...properties, ...configuration.Limits!.properties }, properties)
  assert.deepEqual(configuration.env, settings.env)
})
