import { writeFileSync } from 'node:fs'
import { _ } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import { precompiledFile, type SchemaName, schemaAjv, schemaOf, withoutEnv } from './schemas.ts'

/** Run at the build: writes the validators of the schemas as modules, beside this one. */
const NAMES: readonly SchemaName[] = ['configuration', 'settings', 'lint']
/** The format `regex`, for modules that import nothing of ours. */
const FORMATS = _`{regex: (text) => { try { new RegExp(text, 'u'); return true } catch { return false } }}`

for (const name of NAMES) {
  const ajv = schemaAjv(true, { source: true, formats: FORMATS })
  const validate = ajv.compile(withoutEnv(schemaOf(name)))
  writeFileSync(new URL(precompiledFile(name), import.meta.url), standalone.default(ajv, validate))
}
