import type { Json, JsonObject } from '../../json/index.ts'

/** The text of a client's file, read. */
export interface ClientFile {
  /** The servers that are in it, by name. */
  entries: ReadonlyMap<string, Json>
  /** The text with other servers; all else in it stays as it is. */
  change(edits: FileEdits): string
}

export interface FileEdits {
  set: ReadonlyMap<string, JsonObject>
  /** Names of servers. */
  remove: readonly string[]
  /** Inputs for which the client asks the user. */
  inputs?: readonly JsonObject[]
}

/** A file of a client that cannot be changed; the message names the place. */
export class FileFault extends Error {}

/** @param at offset in the text */
export function faultAt(file: string, text: string, at: number, message: string): FileFault {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - (before.lastIndexOf('\n') + 1) + 1
  return new FileFault(`${file}:${line}:${column}: ${message}; nothing was written`)
}
