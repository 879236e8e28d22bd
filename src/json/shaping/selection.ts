import { quote } from '../../text/index.ts'
import { isObject, type Json, type JsonObject, setOwn } from '../index.ts'
import type { Entry, MaskFault, Step } from './mask-text.ts'

/** The parts of a value that a mask keeps. Entries are combined, so that `a.b, a.c` keeps both members of `a`. */
export interface Keep {
  whole: boolean
  /** Members that keep their name, and members taken from a path; in mask order. */
  outputs: Map<string, Keep | Taken>
  /** Names of outputs taken from a path. */
  taken: string[]
  /** Applied to every member. */
  members?: Keep
  items?: Keep
}

/** A member taken from a path. */
export interface Taken {
  steps: readonly Step[]
  keep: Keep
}

export function isTaken(output: Keep | Taken | undefined): output is Taken {
  return output !== undefined && 'steps' in output
}

/** Compiles the entries of `select`. */
export function compileSelect(entries: readonly Entry[]): Keep | MaskFault {
  const root = emptyKeep()
  return add(root, entries) ?? root
}

function emptyKeep(): Keep {
  return { whole: false, outputs: new Map(), taken: [] }
}

function add(keep: Keep, entries: readonly Entry[]): MaskFault | undefined {
  for (const entry of entries) {
    const fault = addEntry(keep, entry)
    if (fault) return fault
  }
  return undefined
}

function addEntry(keep: Keep, { name, steps, fields, start, end }: Entry): MaskFault | undefined {
  const misplaced = (fault: string): MaskFault => ({ fault, start, end })
  if (steps.includes('deep')) return misplaced('has `**`, which only `drop` can have')
  let at = keep
  if (name !== undefined) {
    if (keep.outputs.has(name)) return misplaced(`makes the member ${quote(name)} twice`)
    at = emptyKeep()
    keep.outputs.set(name, { steps, keep: at })
    keep.taken.push(name)
  }
  for (const step of name === undefined ? steps : []) {
    const next = below(at, step)
    if (!next) return misplaced(`makes the member ${quote((step as { member: string }).member)} twice`)
    at = next
  }
  if (fields) return add(at, fields)
  at.whole = true
  return undefined
}

/** Undefined: the member is already taken from elsewhere. */
function below(keep: Keep, step: Step): Keep | undefined {
  if (step === 'items') {
    keep.items ??= emptyKeep()
    return keep.items
  }
  if (typeof step === 'string') {
    keep.members ??= emptyKeep()
    return keep.members
  }
  const output = keep.outputs.get(step.member) ?? emptyKeep()
  if (isTaken(output)) return undefined
  keep.outputs.set(step.member, output)
  return output
}

/** Characters left for results; at zero the selection stops. */
interface Room {
  left: number
}

/**
 * The parts of a value kept by masks; undefined: none, because of an unexpected type. Null is kept in place of an
 * object or array.
 * @param room counts characters certainly written; absent: unlimited
 */
export function select(keeps: readonly Keep[], value: Json, room?: Room): Json | undefined {
  if (value === null || keeps.some(({ whole }) => whole)) {
    if (room) room.left -= typeof value === 'string' ? value.length : 1
    return value
  }
  if (Array.isArray(value)) {
    const items = keepsOfItems(keeps)
    return items.length ? selectItems(items, value, room) : undefined
  }
  const has = ({ outputs, members }: Keep) => outputs.size > 0 || members !== undefined
  return isObject(value) && keeps.some(has) ? selectMembers(keeps, value, room) : undefined
}

function selectItems(keeps: readonly Keep[], items: readonly Json[], room: Room | undefined): Json[] {
  const selected: Json[] = []
  for (const item of items) {
    if (room && room.left <= 0) break
    const kept = select(keeps, item, room)
    if (kept !== undefined) selected.push(kept)
  }
  return selected
}

const LEFT_OUT: Json[] = []

export function keepsOfItems(keeps: readonly Keep[]): Keep[] {
  return keeps.flatMap(({ items }) => items ?? [])
}

/** @param name of the member */
export function keepsOfMember(keeps: readonly Keep[], name: string): Keep[] {
  return keeps.flatMap(({ outputs, members = [] }) => {
    const output = outputs.get(name)
    return output && !isTaken(output) ? [output].concat(members) : members
  })
}

function selectMembers(keeps: readonly Keep[], value: JsonObject, room: Room | undefined): JsonObject {
  const selected: JsonObject = {}
  const put = (name: string, member: Json | undefined) => {
    if (member === undefined) return
    setOwn(selected, name, member)
    if (room) room.left -= name.length
  }
  for (const keep of keeps)
    for (const name of namesOf(keep, value)) {
      const output = keep.outputs.get(name) as Keep | Taken
      if (Object.hasOwn(selected, name)) continue
      if (isTaken(output)) put(name, taken(output, 0, value))
      else if (Object.hasOwn(value, name))
        put(name, select(keepsOfMember(keeps, name), value[name] as Json, room))
    }
  if (keeps.some(({ members }) => members))
    for (const [name, member] of Object.entries(value))
      if (!Object.hasOwn(selected, name) && !keeps.some(({ outputs }) => isTaken(outputs.get(name))))
        put(name, select(keepsOfMember(keeps, name), member, room))
  return selected
}

/** In mask order, unless the mask has many more names than the object: then in object order. */
function namesOf({ outputs, taken }: Keep, value: JsonObject): Iterable<string> {
  const own = Object.keys(value)
  if (own.length * 4 > outputs.size) return outputs.keys()
  return [...own.filter((name) => outputs.has(name) && !taken.includes(name)), ...taken]
}

function taken(from: Taken, i: number, value: Json): Json | undefined {
  const step = from.steps[i]
  if (step === undefined) return select([from.keep], value)
  if (value === null) return null
  if (step === 'items')
    return Array.isArray(value) ? value.flatMap((item) => listed(taken(from, i + 1, item))) : undefined
  if (!isObject(value)) return undefined
  if (typeof step !== 'string')
    return Object.hasOwn(value, step.member) ? taken(from, i + 1, value[step.member] as Json) : undefined
  const members: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const one = taken(from, i + 1, member)
    if (one !== undefined) setOwn(members, name, one)
  }
  return members
}

/** Wraps an item for `flatMap`, which would flatten arrays. */
function listed(item: Json | undefined): Json[] {
  return item === undefined ? LEFT_OUT : [item]
}
