import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { urlOf } from './bridge.ts'

/** A new value of an entry; undefined: remove it. */
export type EntryChange = readonly [path: readonly string[], to: Json | undefined]

/** Keys for the server's URL; if an entry has two of them, the client picks one. */
const URL_KEYS = ['url', 'serverUrl', 'httpUrl']
const COMMAND_KEYS = ['command', 'args']

/**
 * Changes that turn an entry into the wanted one. Additions of the user to an entry with the same
 * address stay, such as `disabled` or a header; an entry with another address is replaced.
 */
export function changesTo(had: Json | undefined, wanted: JsonObject): EntryChange[] {
  if (!isObject(had) || urlOf(had) !== urlOf(wanted)) return [[[], wanted]]
  const isOtherForm = 'command' in had !== 'command' in wanted
  const stale = [...URL_KEYS, ...COMMAND_KEYS, ...(isOtherForm ? ['type'] : [])]
  const gone = stale.filter((key) => Object.hasOwn(had, key) && !Object.hasOwn(wanted, key))
  return [...gone.map((key) => [[key], undefined] as const), ...leavesOf(had, wanted)]
}

function leavesOf(had: JsonObject, wanted: JsonObject, isHeaders = false): EntryChange[] {
  return Object.entries(wanted).flatMap(([name, to]): EntryChange[] => {
    const isSame = (one: string) => one === name || (isHeaders && one.toLowerCase() === name.toLowerCase())
    const key = Object.keys(had).find(isSame) ?? name
    const was = had[key]
    if (isObject(was) && isObject(to))
      return leavesOf(was, to, key === 'headers').map(([path, at]) => [[key, ...path], at])
    return JSON.stringify(was) === JSON.stringify(to) ? [] : [[[key], to]]
  })
}
