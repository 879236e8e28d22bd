import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StorageSettings } from '../../src/config/index.ts'
import type { Random } from '../fuzz/random.ts'
import { sound } from '../store/files.ts'
import type { Change, Input, Output } from './model.ts'
import type { Printed, Reply, Task } from './process.ts'

/** An operation, and how a process is asked for it. */
export interface Request {
  input: Input
  task: Task
}

/** How a process reaches the store. */
export interface Way {
  storage: StorageSettings
  /** A file with that storage. */
  settings: string
}

/** Seeded requests of a history, and what their answers say. Texts are told by short notes. */
export class Requests {
  readonly #random: Random
  readonly #folder: string
  readonly #counted: boolean
  /** All that there are in this history. */
  readonly names: string[]
  /** Of each name the version that an answer told last. */
  readonly #seen = new Map<string, string | null>()
  readonly #notes = new Map<string, string>()
  #revision: string | undefined
  #count = 0

  constructor(random: Random, folder: string, counted: boolean) {
    this.#random = random
    this.#folder = folder
    this.#counted = counted
    // The fewer there are, the more processes are at the same one.
    this.names = ['a', 'b', 'c'].slice(random.below(3))
  }

  /** @param commandsOnly no calls of a store that stays open */
  next(way: Way, commandsOnly: boolean): Request {
    const { below, pick } = this.#random
    const name = pick(this.names)
    const roll = below(100)
    if (roll < 25) return this.applyCommand(way, this.#names())
    if (roll < 33) return this.#deleteCommand(way, this.#names())
    if (roll < 45 && this.#counted) return this.#rollback(way, name)
    if (roll < 75 && !commandsOnly) return roll < 60 ? this.#put(way) : this.#readCall(way, name)
    return this.#readCommand(way, name)
  }

  #names(): string[] {
    const { below, once, pick } = this.#random
    return once(3) ? this.names.slice(below(this.names.length)) : [pick(this.names)]
  }

  /** The note of a new text, or at times of one that was there before. */
  #text(name: string): string {
    const { once, pick } = this.#random
    const earlier = [...this.#notes].flatMap(([text, note]) =>
      text.startsWith(`name: ${name}\n`) ? note : [],
    )
    if (earlier.length > 0 && once(6)) return pick(earlier.slice(-3))
    const note = `n${String(++this.#count).padStart(4, '0')}`
    this.#notes.set(sound(name, note), note)
    return note
  }

  #by(): string {
    return `m${++this.#count}`
  }

  /** The version that a change is based on: what was seen last, nothing, or what the command reads itself. */
  #expect(name: string): string | null | undefined {
    const { below } = this.#random
    const roll = below(4)
    return roll < 2 ? undefined : roll === 2 ? this.#seen.get(name) : null
  }

  applyCommand(way: Way, names: readonly string[], expectsAny = false): Request {
    const by = this.#by()
    const folder = join(this.#folder, by)
    mkdirSync(folder)
    const expect = expectsAny || names.length > 1 ? undefined : this.#expect(names[0]!)
    const changes = names.map((name) => ({ name, text: this.#text(name), expect }))
    for (const { name, text } of changes) writeFileSync(join(folder, `${name}.yaml`), sound(name, text))
    const argv = [...command('apply', way), '-f', folder, '-m', by]
    if (expect !== undefined) argv.push('--expect', expect ?? '0')
    return { input: { kind: 'change', by, changes, command: true }, task: { argv } }
  }

  #deleteCommand(way: Way, names: readonly string[]): Request {
    const by = this.#by()
    const expect = names.length > 1 ? undefined : (this.#expect(names[0]!) ?? undefined)
    const changes = names.map((name) => ({ name, text: null, expect }))
    const argv = [...command('delete', way), ...names, '-m', by]
    if (expect !== undefined) argv.push('--expect', expect)
    return { input: { kind: 'change', by, changes, command: true }, task: { argv } }
  }

  #rollback(way: Way, name: string): Request {
    const by = this.#by()
    const { once, below } = this.#random
    const to = once(3) ? String(Math.max(1, Number(this.#seen.get(name) ?? 3) - below(4))) : undefined
    const argv = [...command('rollback', way), name, '-m', by, ...(to === undefined ? [] : ['--to', to])]
    return { input: { kind: 'rollback', by, name, to }, task: { argv } }
  }

  #put({ storage }: Way): Request {
    const by = this.#by()
    const { once } = this.#random
    const changes = this.#names().map((name): Change => {
      const expect = this.#seen.get(name) ?? null
      return { name, text: expect !== null && once(5) ? null : this.#text(name), expect }
    })
    const revision = once(3) ? this.#revision : undefined
    const given = changes.map(({ name, text, expect }) => ({
      name,
      ...(expect !== null && { version: expect }),
      ...(text === null
        ? { tenant: 'default', deleted: true }
        : { tenant: 'default', text: sound(name, text) }),
    }))
    return {
      input: { kind: 'change', by, changes, revision, command: false },
      task: {
        call: 'apply',
        args: [given, { author: 'x', message: by }, ...(revision === undefined ? [] : [revision])],
        storage,
      },
    }
  }

  #readCall({ storage }: Way, name: string): Request {
    const { below } = this.#random
    const roll = below(6)
    if (roll === 0 && this.#counted)
      return {
        input: { kind: 'history', name },
        task: { call: 'history', args: [{ tenant: 'default', name }], storage },
      }
    if (roll === 1)
      return {
        input: { kind: 'get', name },
        task: { call: 'get', args: [{ tenant: 'default', name }], storage },
      }
    return { input: { kind: 'all' }, task: { call: roll < 4 ? 'readAll' : 'poll', args: [], storage } }
  }

  #readCommand(way: Way, name: string): Request {
    const { below } = this.#random
    const roll = below(4)
    if (roll === 0) return { input: { kind: 'all' }, task: { argv: command('list', way) } }
    if (roll === 1 && this.#counted) return this.history(way, name)
    const at = roll === 2 ? (this.#seen.get(name) ?? undefined) : undefined
    const argv = [...command('get', way), name, ...(at === undefined ? [] : ['--at', at])]
    return { input: { kind: 'get', name, at }, task: { argv } }
  }

  history(way: Way, name: string): Request {
    return { input: { kind: 'history', name }, task: { argv: [...command('history', way), name] } }
  }

  all({ storage }: Way): Request {
    return { input: { kind: 'all' }, task: { call: 'readAll', args: [], storage } }
  }

  /**
   * What a reply says; undefined where a change may have been made or not.
   * @throws Error for what no store should ever say
   */
  read({ input, task }: Request, reply: Reply): Output | undefined {
    const output = 'code' in reply ? this.#printed(input, reply) : this.#returned(input, task, reply)
    if (output?.kind === 'conflict') for (const one of output.conflicts) this.#seen.set(one.name, one.found)
    if (output?.kind === 'version' && input.kind === 'get') this.#seen.set(input.name, output.version)
    if (output?.kind === 'applied')
      for (const [name, version] of Object.entries(output.versions)) this.#learn(input, name, version)
    if (output?.kind === 'all') {
      for (const name of this.names) this.#seen.set(name, output.versions[name] ?? null)
      this.#revision = output.revision ?? this.#revision
    }
    return output
  }

  #learn(input: Input, name: string, version: string): void {
    const isDeleted =
      input.kind === 'change' && input.changes.some((one) => one.name === name && one.text === null)
    this.#seen.set(name, isDeleted ? null : version)
  }

  #printed(input: Input, { code, stdout, stderr }: Printed): Output | undefined {
    if (code === 2)
      return stderr.includes('the change may have been made')
        ? undefined
        : { kind: 'nothing', reason: stderr }
    if (code === 1 && /^plantgw: there is no/.test(stderr)) return { kind: 'absent' }
    if (code === 1 && /the store keeps changing/.test(stderr)) return { kind: 'nothing', reason: stderr }
    const told = JSON.parse(stdout || '{}')
    if (code === 1 && told.conflicts) return conflict(told.conflicts)
    if (code !== 0) throw new Error(`${JSON.stringify(input)} ended with ${code}: ${stdout}${stderr}`)
    switch (input.kind) {
      case 'get':
        return { kind: 'version', version: told.version, text: this.#note(told.text) }
      case 'history':
        return versions(told.versions)
      case 'all':
        return { kind: 'all', versions: byName(told.configurations, 'version') }
      default:
        return { kind: 'applied', versions: byName(told.applied ?? told.deleted, 'version') }
    }
  }

  #returned(input: Input, task: Task, reply: Exclude<Reply, Printed>): Output | undefined {
    if ('error' in reply) {
      const { name, kind, message, stack } = reply.error
      if (name !== 'StoreError' || kind !== 'unreachable')
        throw new Error(`${JSON.stringify(task)}: ${stack}`)
      return input.kind === 'change' ? undefined : { kind: 'nothing', reason: message }
    }
    // biome-ignore lint/suspicious/noExplicitAny: what a store answers is judged by the model
    const value = reply.value as any
    if (input.kind === 'change') {
      if (value.kind === 'conflict') return conflict(value.conflicts)
      return value.kind === 'applied'
        ? { kind: 'applied', versions: byName(value.versions, 'version') }
        : value
    }
    if (input.kind === 'history') return versions(value)
    if (value === null) return { kind: 'absent' }
    if (input.kind === 'get') return { kind: 'version', version: value.version, text: this.#note(value.text) }
    const texts = Object.entries(byName(value.configurations, 'text')).map(([name, text]) => [
      name,
      this.#note(text),
    ])
    return {
      kind: 'all',
      versions: byName(value.configurations, 'version'),
      texts: Object.fromEntries(texts),
      revision: value.revision,
    }
  }

  /** A text that nobody wrote is told as it is, and fits nothing. */
  #note(text: string): string {
    return this.#notes.get(text) ?? text
  }
}

function command(name: string, { settings }: Way): string[] {
  return ['config', name, '-s', settings, '--format', 'json']
}

function byName<K extends string>(
  list: ({ name: string } & Record<K, string>)[],
  key: K,
): Record<string, string> {
  return Object.fromEntries(list.map((one) => [one.name, one[key]]))
}

function conflict(told: { name: string; expected?: string; found?: string }[]): Output {
  const conflicts = told.map(({ name, expected = null, found = null }) => ({ name, expected, found }))
  return { kind: 'conflict', conflicts }
}

function versions(told: { version: string; deleted: boolean; message: string }[]): Output {
  return {
    kind: 'versions',
    versions: told.map(({ version, deleted, message: by }) => ({ version, deleted, by })),
  }
}
