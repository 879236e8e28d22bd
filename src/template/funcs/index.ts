import { builtins } from './builtins.ts'
import { dates } from './dates.ts'
import { defaults, json } from './defaults.ts'
import type { FunctionEntry, FunctionGroup } from './define.ts'
import { dicts } from './dicts.ts'
import { encodings } from './encodings.ts'
import { type Environment, gatewayFunctions } from './gateway.ts'
import { lists } from './lists.ts'
import { numbers } from './numbers.ts'
import { regexes } from './regexes.ts'
import { versions } from './semver.ts'
import { strings } from './strings.ts'

const sprigGroups: readonly FunctionGroup[] = [
  { title: 'Strings', functions: strings },
  { title: 'Defaults, choices and types', functions: defaults },
  { title: 'JSON', functions: json },
  { title: 'Lists', functions: lists },
  { title: 'Maps', functions: dicts },
  { title: 'Numbers', functions: numbers },
  { title: 'Dates', functions: dates },
  { title: 'Encodings, checksums, paths and URLs', functions: encodings },
  { title: 'Regular expressions', functions: regexes },
  { title: 'Versions', functions: versions },
]

/** Every function with its documentation, by group. */
export const functionGroups: readonly FunctionGroup[] = [
  { title: 'Functions of the gateway', functions: gatewayFunctions({}) },
  { title: 'Functions of Go’s text/template', functions: builtins },
  ...sprigGroups,
]

const goTable = new Map(builtins.map((entry) => [entry.name, entry]))
const sprigTable = new Map(
  [...builtins, ...sprigGroups.flatMap(({ functions }) => functions)].map((entry) => [entry.name, entry]),
)
// Sprig's slice does not support texts, so Go's is used except in comparisons with Go.
const [goSlice, sprigSlice] = [goTable.get('slice')!, sprigTable.get('slice')!]
sprigTable.set('slice', {
  ...sprigSlice,
  call: (args, host) => (host.go ? sprigSlice : goSlice).call(args, host),
})

/** One table for each environment, as configurations have many templates. */
const tables = new WeakMap<Environment, { go?: Table; sprig?: Table }>()

type Table = ReadonlyMap<string, FunctionEntry>

/** The functions of a template; Sprig's replace Go's of the same name. */
export function functionTable(env: Environment, sprig: boolean): Table {
  const known = tables.get(env) ?? {}
  tables.set(env, known)
  const key = sprig ? 'sprig' : 'go'
  known[key] ??= new Map([
    ...(sprig ? sprigTable : goTable),
    ...gatewayFunctions(env).map((entry) => [entry.name, entry] as const),
  ])
  return known[key]
}
