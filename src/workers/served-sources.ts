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

  constructor(private served: ServedSources) {
    this.next = served
  }

  /** As configurations are to be read from now on. */
  readonly env = (): Env => this.next.env

  /** What is to be served; what is the same as before is the same object. */
  readonly source: ConfigurationSource = async (env, rules) => {
    const { sources, generation } = this.next
    const read = new Map<string, ReadConfiguration>()
    const isSameEnv = env === this.served.env
    for (const [id, source] of sources) {
      const before = this.read.get(id)
      const isSame = isSameEnv && before && isEqual(before, source)
      if (!isSame) await giveWayToCalls()
      read.set(id, isSame ? before : readConfiguration(source, env, rules))
    }
    this.nextRead = read
    const configurations = [...read.values()]
    const texts = new Map(configurations.map(({ file, text }) => [file, text]))
    return {
      configurations,
      // They were checked where they were read; a warning says nothing new here.
      findings: configurations.flatMap(({ findings }) =>
        findings.filter(({ severity }) => severity === 'error'),
      ),
      sources: texts,
      generation,
    }
  }

  /** Takes what a reload changes; it is served once it is committed. */
  change({ generation, env = this.served.env, changed, removed }: Change): void {
    const sources = new Map(this.served.sources)
    for (const id of removed) sources.delete(id)
    for (const [id, source] of changed) sources.set(id, source)
    this.next = { generation, env, sources }
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

function isEqual(one: Source, other: Source): boolean {
  return one.text === other.text && one.file === other.file
}
