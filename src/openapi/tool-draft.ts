import type { ArgPosition } from '../config/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { SchemaContext } from './schema.ts'
import type { Style, Writable } from './style.ts'
import { argumentName } from './tool-names.ts'

/** An argument of a tool, before it is decided how it is written down. */
export interface DraftArg {
  name: string
  /** Undefined: only templates read it. */
  position: ArgPosition | undefined
  required: boolean
  schema: JsonObject
  /** Its own words, which go before those of the schema. */
  description: string
}

/** A pair of the query, or of a form. */
export interface Pair {
  arg: DraftArg
  /** The API's name of it. */
  name: string
  what: Writable
  style: Style
}

/** A tool while it is put together. */
export interface Draft {
  args: DraftArg[]
  query: Pair[]
  headers: Map<string, string>
  /** By the API's name: the text that the path has for a parameter. */
  path: Map<string, string>
  cookies: Pair[]
  requestBody: string | undefined
  schemas: SchemaContext
  /** A name that no other argument has: the wanted one, or one with what it is for in front. */
  nameFor(wanted: string, use: string): string
  /** Tells what is left out of the tool. */
  leaveOut(what: string, reason: string): void
}

export function newDraft(schemas: SchemaContext, leaveOut: Draft['leaveOut']): Draft {
  const taken = new Set<string>()
  return {
    args: [],
    query: [],
    headers: new Map(),
    path: new Map(),
    cookies: [],
    requestBody: undefined,
    schemas,
    leaveOut,
    nameFor(wanted, use) {
      const plain = argumentName(wanted)
      let name = plain
      for (let n = 1; taken.has(name); n++) {
        const front = n === 1 ? `${use}_` : `${use}${n}_`
        name = `${front}${plain}`.slice(0, 64)
      }
      taken.add(name)
      return name
    },
  }
}
