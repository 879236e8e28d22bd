import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'
import { schemaFile } from '../../src/config/index.ts'

/** The schemas as an editor uses them: on the YAML as it stands, before variables are replaced. */
function validator(name: 'configuration' | 'settings') {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true })
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  // For editors, and for what becomes of the values.
  for (const keyword of ['defaultSnippets', 'x-form', 'x-model', 'x-was']) ajv.addKeyword(keyword)
  return ajv.compile(schemaFile(name))
}

const root = new URL('../../', import.meta.url)

describe('schemas in an editor', () => {
  const configuration = validator('configuration')
  const settings = validator('settings')

  for (const file of readdirSync(new URL('examples/configs/', root))) {
    test(`examples/configs/${file}`, () => {
      const valid = configuration(parse(readFileSync(new URL(`examples/configs/${file}`, root), 'utf8')))
      assert.ok(valid, JSON.stringify(configuration.errors, null, 2))
    })
  }

  test('examples/plantgw.yaml', () => {
    const valid = settings(parse(readFileSync(new URL('examples/plantgw.yaml', root), 'utf8')))
    assert.ok(valid, JSON.stringify(settings.errors, null, 2))
  })

  test('a notifier is the same in configurations and in settings', () => {
    const [one, other] = (['configuration', 'settings'] as const).map((name) => schemaFile(name))
    const notifierOf = (schema: unknown) => (schema as { $defs: Record<string, unknown> }).$defs.Notifier
    assert.deepEqual(notifierOf(one), notifierOf(other))
  })

  test('variables may stand where numbers, booleans and choices are wanted', () => {
    const values = { port: '${PORT:5235}', reload_switch: '${ON}', logger: { level: '${LEVEL:info}' } }
    assert.ok(settings({ ...values, limits: { timeout: '${T}' } }), JSON.stringify(settings.errors))
    for (const wrong of [
      { port: 'abc' },
      { reload_switch: 'on' },
      { logger: { level: 'loud' } },
      { prot: 1 },
    ]) {
      assert.equal(settings(wrong), false, JSON.stringify(wrong))
    }
  })

  test('every example and default in the schemas is valid by itself', () => {
    for (const name of ['configuration', 'settings'] as const) {
      const { $defs, ...top } = schemaFile(name)
      const wrong: string[] = []
      const visit = (value: unknown, path: string) => {
        if (typeof value !== 'object' || value === null) return
        const { examples, default: fallback, type, anyOf, $ref } = value as Record<string, unknown>
        if (Array.isArray(examples) && (type || anyOf || $ref) && !path.endsWith('/properties')) {
          const ajv = new Ajv2020({ strict: false, validateFormats: false })
          const validate = ajv.compile({ ...(value as object), $defs })
          const all = fallback === undefined ? examples : [...examples, fallback]
          for (const one of all) if (!validate(one)) wrong.push(`${path}: ${JSON.stringify(one)}`)
        }
        for (const [key, member] of Object.entries(value)) visit(member, `${path}/${key}`)
      }
      visit({ ...top, $defs }, name)
      assert.deepEqual(wrong, [])
    }
  })
})
