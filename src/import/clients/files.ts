import type { JsonObject } from '../../json/index.ts'
import type { ClientFile } from './client-file.ts'
import type { Client, Endpoint } from './clients.ts'
import { jsonFile } from './json-file.ts'
import { tableText, tomlFile } from './toml-file.ts'

const FORMS = { json: jsonFile, toml: tomlFile } satisfies Record<
  Client['form'],
  (file: string, text: string, key: string) => ClientFile
>

/** @throws FileFault with the place of the error */
export function openFile({ form, key }: Client, file: string, text: string): ClientFile {
  return FORMS[form](file, text, key)
}

/** The file of a client that has only these servers. */
export function newFile(client: Client, endpoints: readonly Endpoint[], platform: NodeJS.Platform): string {
  const entries = endpoints.map((one) => [one.name, client.entry(one, platform)] as const)
  if (client.form === 'toml')
    return entries.map(([name, entry]) => tableText(client.key, name, entry)).join('\n')
  const inputs = inputsOf(client, endpoints)
  const value = { [client.key]: Object.fromEntries(entries), ...(inputs.length > 0 && { inputs }) }
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Inputs for which the client asks the user, without duplicates. */
export function inputsOf(client: Client, endpoints: readonly Endpoint[]): JsonObject[] {
  const inputs = endpoints.flatMap((one) => client.inputs?.(one) ?? [])
  return [...new Map(inputs.map((input) => [input.id, input])).values()]
}
