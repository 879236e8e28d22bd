import type { ArgPosition } from '../config/index.ts'
import type { JsonObject } from '../json/index.ts'
import { reasonOf, Unfit } from './open-document.ts'
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
  description?: string | undefined
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
  /** Adds an argument with such a name. */
  add(wanted: string, use: string, arg: Omit<DraftArg, 'name'>): DraftArg
  /** Tells what is left out of the tool. */
  leaveOut(what: string, reason: string): void
}

/** Adds a part of a tool; one that does not fit is left out, or ends the tool where it is needed. @throws Unfit */
export function addPart({ leaveOut }: Draft, what: string, needed: boolean, add: () => void): void {
  try {
    add()
  } catch (error) {
    const reason = reasonOf(error)
    if (needed) throw new Unfit(`${what}: ${reason}`)
    leaveOut(what, reason)
  }
}

export function leaveOutMember({ leaveOut }: Draft, member: string, of: string): void {
  leaveOut(`${member} of ${of}`, 'no OpenAPI style defines how to write it')
}

export function newDraft(schemas: SchemaContext, leaveOut: Draft['leaveOut']): Draft {
  const taken = new Set<string>()
  const args: DraftArg[] = []
  const nameFor: Draft['nameFor'] = (wanted, use) => {
    const plain = argumentName(wanted)
    let name = plain
    for (let n = 1; taken.has(name); n++) name = `${use}${n === 1 ? '' : n}_${plain}`.slice(0, 64)
    taken.add(name)
    return name
  }
  return {
    args,
    query: [],
    headers: new Map(),
    path: new Map(),
    cookies: [],
    requestBody: undefined,
    schemas,
    leaveOut,
    nameFor,
    add(wanted, use, arg) {
      const made = { name: nameFor(wanted, use), ...arg }
      args.push(made)
      return made
    },
  }
}
