import type { Arg, ArgPosition } from '../config/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { decide, type Fixed, type Fixing, type Place } from './fixed.ts'
import { reasonOf, Unsupported } from './open-document.ts'
import type { SchemaContext } from './schema.ts'
import { argumentName } from './tool-names.ts'

/** How a value is written as text: the styles of OpenAPI, and `json` for a `content`. */
export interface Style {
  style: string
  explode: boolean
}

/** A value's schema, restricted to what a style supports, and its kind. */
export interface Writable {
  schema: JsonObject
  /** `deep`: members and items at any depth are pairs with brackets. */
  kind: Kind | 'json' | 'deep'
  /** Whether an array may also be a single value, if written alike. */
  mixed?: boolean
  leftOut: string[]
}

/** Kinds of values outside JSON. */
export type Kind = 'scalar' | 'array' | 'object'

/** How the gateway writes an argument, where that differs from its name and type. */
export type WireForm = Pick<Arg, 'as' | 'style' | 'explode'>

/** An argument of a tool before its final form is decided. */
export interface DraftArg {
  name: string
  /** Undefined: read only by templates. */
  position: ArgPosition | undefined
  required: boolean
  /** In a path: whether values may contain slashes. */
  slashes?: 'encode' | undefined
  schema: JsonObject
  /** Its own description, which precedes the schema's. */
  description?: string | undefined
  /** A fixed value instead of an argument. */
  fixed?: Fixed | undefined
  /** The value of every call, which models do not see. */
  const?: Json
  wire?: WireForm | undefined
}

/** A pair of the query or a form. */
export interface Pair {
  arg: DraftArg
  /** Name in the API. */
  name: string
  what: Writable
  style: Style
}

/** A tool under construction. */
export interface Draft {
  /** Arguments for the model. */
  args: DraftArg[]
  /** Values of `.Config` that it reads apart from its login. */
  config: Map<string, string>
  query: Pair[]
  headers: Map<string, string>
  /** Text of path parameters, by the API's name. */
  path: Map<string, string>
  cookies: Pair[]
  requestBody: string | undefined
  schemas: SchemaContext
  /**
   * Adds an argument, named as wanted, or with its place as prefix if taken. It may be fixed instead; undefined: not
   * sent.
   */
  add(wanted: string, place: Place, arg: Omit<DraftArg, 'name' | 'fixed' | 'const'>): DraftArg | undefined
  /** Records an omission. */
  leaveOut(what: string, reason: string): void
}

/** Adds a part of a tool; an unsupported one is omitted, or makes the tool unsupported if required. @throws Unsupported */
export function addPart({ leaveOut }: Draft, what: string, needed: boolean, add: () => void): void {
  try {
    add()
  } catch (error) {
    const reason = reasonOf(error)
    if (needed) throw new Unsupported(`${what}: ${reason}`)
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
      if (decided !== 'ask' && !('const' in decided)) return { ...arg, name, fixed: decided }
      taken.add(name)
      const made = decided === 'ask' ? { ...arg, name } : { ...arg, name, required: true, ...decided }
      args.push(made)
      return made
    },
  }
}
