import type { ArgPosition } from '../config/index.ts'
import type { JsonObject } from '../json/index.ts'
import { decide, type Fixed, type Fixing, type Place } from './fixed.ts'
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
  /** In a path: values may hold slashes. */
  slashes?: 'encode' | undefined
  schema: JsonObject
  /** Its own words, which go before those of the schema. */
  description?: string | undefined
  /** What is sent instead of an argument of the model. */
  fixed?: Fixed | undefined
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
  /** Those that the model is asked for. */
  args: DraftArg[]
  /** Values of `.Config` that it reads beside those of its login. */
  config: Map<string, string>
  query: Pair[]
  headers: Map<string, string>
  /** By the API's name: the text that the path has for a parameter. */
  path: Map<string, string>
  cookies: Pair[]
  requestBody: string | undefined
  schemas: SchemaContext
  /**
   * Adds an argument: its name is the wanted one, or one with its place in front where another argument has that. It is
   * fixed where callers do not choose it, and undefined where it is not sent.
   */
  add(wanted: string, place: Place, arg: Omit<DraftArg, 'name' | 'fixed'>): DraftArg | undefined
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

export function newDraft(schemas: SchemaContext, fixing: Fixing, leaveOut: Draft['leaveOut']): Draft {
  const taken = new Set<string>()
  const args: DraftArg[] = []
  const config = new Map<string, string>()
  const nameFor = (wanted: string, place: Place) => {
    const plain = argumentName(wanted)
    let name = plain
    for (let n = 1; taken.has(name); n++) name = `${place}${n === 1 ? '' : n}_${plain}`.slice(0, 64)
    return name
  }
  return {
    args,
    config,
    query: [],
    headers: new Map(),
    path: new Map(),
    cookies: [],
    requestBody: undefined,
    schemas,
    leaveOut,
    add(wanted, place, arg) {
      const name = nameFor(wanted, place)
      const decided = decide({ ...arg, wanted, name, place }, fixing, config)
      if (decided === 'omit') return undefined
      if (decided !== 'ask') return { ...arg, name, fixed: decided }
      taken.add(name)
      const made = { ...arg, name }
      args.push(made)
      return made
    },
  }
}
