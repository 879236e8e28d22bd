import type { Json, JsonObject } from '../json/index.ts'

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
