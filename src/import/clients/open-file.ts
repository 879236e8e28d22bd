import type { ClientFile } from './client-file.ts'
import type { Client } from './clients.ts'
import { jsonFile } from './json-file.ts'
import { tomlFile } from './toml-file.ts'

const FORMS = { json: jsonFile, toml: tomlFile } satisfies Record<
  Client['form'],
  (file: string, text: string, key: string) => ClientFile
>

/** @throws FileFault with the place of the error */
export function openFile({ form, key }: Client, file: string, text: string): ClientFile {
  return FORMS[form](file, text, key)
}
