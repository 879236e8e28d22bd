import { changed, revised } from '../build/revision.ts'
import type { ConfigurationSource } from '../build/source.ts'
import { readConfiguration } from '../checks/index.ts'
import type { Env, ReadConfiguration, Source } from '../config/index.ts'
import { giveWayToCalls } from '../text/index.ts'
import type { Change, ServedSources } from './channel-messages.ts'

/** The configurations that a worker is to serve, from one change to the next. */
export class WorkerSources {
  private next: ServedSources
  /** What was read of those that are served, and of the next. */
  private read: ReadonlyMap<string, ReadConfiguration> = new Map()
  private nextRead = this.read
  private served: ServedSources

  constructor(first: ServedSources) {
    this.served = { ...first, sources: new Map() }
    this.next = first
  }

  /** As configurations are to be read from now on. */
  readonly env = (): Env => this.next.env

  /** What is to be served; what is the same as before is the same object. */
  readonly source: ConfigurationSource = async (env, rules) => {
    const { sources, generation } = this.next
    const isSameEnv = env === this.served.env
    const before = isSameEnv ? this.served.sources : new Map<string, Source>()
    const read: [string, ReadConfiguration | undefined][] = []
    for (const [id] of changed(before, sources)) read.push([id, undefined])
    for (const [id, source] of changed(sources, before)) {
      await giveWayToCalls()
      read.push([id, readConfiguration(source, env, rules)])
    }
    this.nextRead = revised(isSameEnv ? this.read : new Map<string, ReadConfiguration>(), read)
    const configurations = [...this.nextRead.values()]
    return {
      configurations,
      // They were checked where they were read; a warning says nothing new here.
      findings: configurations
        .flatMap(({ findings }) => findings)
        .filter(({ severity }) => severity === 'error'),
      get sources() {
        return new Map(configurations.map(({ file, text }) => [file, text]))
      },
      generation,
    }
  }

  /** Takes what a reload changes; it is served once it is committed. */
  change({ generation, env = this.served.env, changed, removed }: Change): void {
    const { sources } = this.served
    const isOther = ([id, { file, text }]: [string, Source]) => {
      const before = sources.get(id)
      return before?.file !== file || before.text !== text
    }
    const gone = removed.map((id) => [id, undefined] as const)
    this.next = { generation, env, sources: revised(sources, [...gone, ...[...changed].filter(isOther)]) }
  }

  commit(): void {
    this.served = this.next
    this.read = this.nextRead
  }

  /** What was taken is not served. */
  discard(): void {
    this.next = this.served
    this.nextRead = this.read
  }
}
