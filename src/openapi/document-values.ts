import { isObject, type Json, type JsonObject } from '../json/index.ts'

/** A map; what a document says in another form counts as not said. */
export const isMap: (value: unknown) => value is JsonObject = isObject

export function mapOf(value: unknown): JsonObject {
  return isMap(value) ? value : {}
}

export function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** An own member; a document may name one `constructor`. */
export function member(map: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined
}

/** Schemas that are followed too far: to be tried again less deep; never thrown out of the room. */
export class TooLarge extends Error {}

/** Why a part of a document cannot be used; never leaves the room. */
export class Unfit extends Error {}
