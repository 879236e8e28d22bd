import type { Model, Operation } from './linearizable.ts'

/** A version as the history of a store holds it; without a text where it deleted the configuration. */
export interface Version {
  version: string
  text: string | null
  /** The message of the change that wrote it; empty where the store keeps none. */
  by: string
}

/** All that a store tells of itself: the kept versions of each name, oldest first, and its revision once it was told. */
export interface State {
  versions: { readonly [name: string]: readonly Version[] }
  revision: string | undefined
  /** Revisions that were told, by what was there then. */
  told?: { readonly [contents: string]: string }
}

export interface Change {
  name: string
  /** Null deletes. */
  text: string | null
  /** The version that must be there, null for none; undefined where the command itself reads what it is based on. */
  expect?: string | null | undefined
}

export type Input =
  | { kind: 'change'; by: string; changes: Change[]; revision?: string | undefined; command: boolean }
  | { kind: 'rollback'; by: string; name: string; to?: string | undefined }
  | { kind: 'get'; name: string; at?: string | undefined }
  | { kind: 'history'; name: string }
  | { kind: 'all' }

export type Output =
  | { kind: 'applied'; versions: Record<string, string> }
  | { kind: 'conflict'; conflicts: { name: string; expected: string | null; found: string | null }[] }
  /** There is nothing of that name, or no version to go back to. */
  | { kind: 'absent' }
  /** The store was not at the revision that was asked for. */
  | { kind: 'moved' }
  /** An error, after which nothing was changed. */
  | { kind: 'nothing'; reason: string }
  | { kind: 'version'; version: string; text: string }
  /** Newest first. */
  | { kind: 'versions'; versions: { version: string; deleted: boolean; by: string }[] }
  /** `texts` and `revision` where they were asked for. */
  | { kind: 'all'; versions: Record<string, string>; texts?: Record<string, string>; revision?: string }

export type StoreOperation = Operation<Input, Output>

export interface Traits {
  /** The version that a text has, in a store that keeps the current one only; in the others versions are counted. */
  hash?: (text: string) => string
  /** Versions of each name that are kept. */
  keep: number
}

/** A store of configurations as a single copy. */
export function storeModel(traits: Traits): Model<State, Input, Output> {
  return {
    initial: { versions: {}, revision: undefined },
    step(state, input, output) {
      if (output?.kind === 'nothing') return state
      switch (input.kind) {
        case 'change':
          return change(state, input, output, traits)
        case 'rollback':
          return rollback(state, input, output, traits)
        default:
          return output === undefined ? state : read(state, input, output)
      }
    },
    key: ({ versions, revision }) => JSON.stringify([Object.entries(versions).sort(), revision]),
  }
}

const currentOf = ({ versions }: State, name: string): Version | undefined => {
  const last = versions[name]?.at(-1)
  return last?.text === null ? undefined : last
}

type Given = Extract<Input, { kind: 'change' }>

function change(state: State, input: Given, output: Output | undefined, traits: Traits): State | undefined {
  const mayHaveMoved = input.revision !== undefined && input.revision !== state.revision
  if (output?.kind === 'moved') return mayHaveMoved ? state : undefined
  // What was added and deleted again leaves the other files of a folder as they were.
  const isBack = state.revision === undefined && state.told?.[contentsOf(state)] === input.revision
  const moved = mayHaveMoved && !(traits.hash && isBack)
  const found = (name: string) => currentOf(state, name)?.version ?? null
  const refused = input.changes.filter(({ name, expect }) => expect !== undefined && expect !== found(name))
  const absent = input.changes.some(({ name, text }) => text === null && found(name) === null)
  if (output?.kind === 'absent') return absent ? state : undefined
  if (output?.kind === 'conflict') {
    const told = output.conflicts
    const isTold = ({ name }: Change) => told.some((one) => one.name === name)
    const isTrue = told.every(({ name, expected }) => expected !== found(name))
    const isExact = told.every((one) => one.found === found(one.name))
    return told.length > 0 && isTrue && isExact && refused.every(isTold) ? state : undefined
  }
  if (moved || absent || refused.length > 0) return output === undefined ? state : undefined
  const written = input.changes.filter(({ name, text }) => {
    const isSame = text !== null && currentOf(state, name)?.text === text
    return !(input.command && isSame)
  })
  const next = written.reduce((before, one) => write(before, one, input.by, traits), state)
  if (output === undefined) return next
  if (output.kind !== 'applied') return undefined
  const versionOf = ({ name, text }: Change) =>
    // The command says which version it deleted, the store the one that holds the deletion.
    text === null && (input.command || traits.hash) ? found(name) : next.versions[name]!.at(-1)!.version
  return input.changes.every((one) => output.versions[one.name] === versionOf(one)) ? next : undefined
}

function write(state: State, { name, text }: Change, by: string, { hash, keep }: Traits): State {
  const before = state.versions[name] ?? []
  const version = hash ? hash(text ?? '') : String(Number(before.at(-1)?.version ?? 0) + 1)
  const after = [...before, { version, text, by: hash ? '' : by }].slice(-keep)
  return {
    ...state,
    versions: { ...state.versions, [name]: hash ? after.filter(hasText) : after },
    revision: undefined,
  }
}

function rollback(
  state: State,
  { name, to, by }: Extract<Input, { kind: 'rollback' }>,
  output: Output | undefined,
  traits: Traits,
): State | undefined {
  const kept = state.versions[name] ?? []
  const target =
    to === undefined ? kept.slice(0, -1).findLast(hasText) : kept.find((one) => one.version === to)
  const current = currentOf(state, name)
  if (output?.kind === 'conflict') {
    const [told] = output.conflicts
    return told && told.found === (current?.version ?? null) && told.expected !== told.found
      ? state
      : undefined
  }
  if (!target || !hasText(target)) return output === undefined || output.kind === 'absent' ? state : undefined
  if (output !== undefined && output.kind !== 'applied') return undefined
  const isSame = current?.text === target.text
  const next = isSame ? state : write(state, { name, text: target.text }, by, traits)
  const version = next.versions[name]!.at(-1)!.version
  return output === undefined || output.versions[name] === version ? next : undefined
}

const hasText = ({ text }: Version) => text !== null

function read(state: State, input: Input, output: Output): State | undefined {
  if (input.kind === 'all') return output.kind === 'all' ? readAll(state, output) : undefined
  if (input.kind === 'change' || input.kind === 'rollback') return undefined
  const kept = state.versions[input.name] ?? []
  if (input.kind === 'history') {
    const told = output.kind === 'versions' ? output.versions.toReversed() : []
    const isTold = told.length === kept.length && told.every((one, index) => isSame(one, kept[index]!))
    return isTold && (output.kind === 'versions' || output.kind === 'absent') ? state : undefined
  }
  const { at } = input
  const current = currentOf(state, input.name)
  const wanted = at === undefined ? current : kept.find(({ version }) => version === at)
  if (!wanted || !hasText(wanted)) return output.kind === 'absent' ? state : undefined
  const isTold = output.kind === 'version' && output.version === wanted.version && output.text === wanted.text
  return isTold ? state : undefined
}

function isSame(
  told: { version: string; deleted: boolean; by: string },
  { version, text, by }: Version,
): boolean {
  return told.version === version && told.deleted === (text === null) && told.by === by
}

function readAll(state: State, output: Extract<Output, { kind: 'all' }>): State | undefined {
  const current = Object.keys(state.versions).flatMap((name) => {
    const there = currentOf(state, name)
    return there ? [[name, there] as const] : []
  })
  if (Object.keys(output.versions).length !== current.length) return undefined
  for (const [name, { version, text }] of current)
    if (output.versions[name] !== version || (output.texts && output.texts[name] !== text)) return undefined
  if (output.revision === undefined) return state
  if (state.revision !== undefined && state.revision !== output.revision) return undefined
  const told = { ...state.told, [contentsOf(state)]: output.revision }
  return { ...state, revision: output.revision, told }
}

/** The current versions, as one text. */
function contentsOf(state: State): string {
  const current = Object.keys(state.versions).sort()
  const versions = current.map((name) => [name, currentOf(state, name)?.version])
  return JSON.stringify(versions.filter(([, version]) => version !== undefined))
}
