import type { JsonObject } from '../json/index.ts'

const BARE = /^[A-Za-z0-9_-]+$/

/** A server as a table of TOML; what JSON writes of texts, TOML reads. */
export function tableText(key: string, name: string, entry: JsonObject): string {
  const quoted = BARE.test(name) ? name : JSON.stringify(name)
  return `[${key}.${quoted}]\n${linesOf(entry)}`
}

/** The members of a server, each on its line. */
export function linesOf(entry: JsonObject): string {
  return Object.entries(entry)
    .map(([member, value]) => `${member} = ${JSON.stringify(value)}\n`)
    .join('')
}
