import { createRequire } from 'node:module'
import type { Format, Options } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { boundedFormat } from './formats.ts'

const require = createRequire(import.meta.url)

/** ajv of JSON Schema 2020-12, loaded when it is first wanted: it takes longer to load than most commands to run. */
export function makeAjv(options: Options): Ajv2020 {
  const loaded = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  return new loaded.Ajv2020(options)
}

/** What a keyword writes its code with. */
export function codegen(): typeof import('ajv/dist/compile/codegen/index.js') {
  return require('ajv/dist/compile/codegen/index.js')
}

/** The formats of JSON Schema, such as `date-time`, none of which takes long for any text. */
export function addFormats(ajv: Ajv2020): void {
  const add = require('ajv-formats') as (ajv: Ajv2020) => void
  add(ajv)
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (format !== undefined) ajv.addFormat(name, boundedFormat(name, format as Format))
  }
}
