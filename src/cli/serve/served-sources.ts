import type { ConfigurationSource } from '../../build/source.ts'
import { readConfiguration } from '../../checks/index.ts'
import type { Env, ReadConfiguration } from '../../config/index.ts'
import { pause } from '../../text/index.ts'
import type { Change, Served } from './channel.ts'

/** The configurations that the parent has a worker serve. */
export class ServedSources {
  /** The last reading, and its environment. */
  private read: ReadonlyMap<string, ReadConfiguration> = new Map()
  private readEnv: Env | undefined

  constructor(public served: Served) {}

  /** Reads only changed configurations; the others are the same objects. */
  readonly source: ConfigurationSource = async (env, rules) => {
    const { sources, generation } = this.served
    const before = env === this.readEnv ? this.read : new Map<string, ReadConfiguration>()
    const read = new Map<string, ReadConfiguration>()
    for (const [id, source] of sources) {
      const known = before.get(id)
      const isSame = known?.file === source.file && known.text === source.text
      if (!isSame) await pause()
      read.set(id, isSame ? known : readConfiguration(source, env, rules))
    }
    this.read = read
    this.readEnv = env
    const configurations = [...read.values()]
    return {
      configurations,
      // The parent has reported the warnings.
      findings: configurations
        .flatMap(({ findings }) => findings)
        .filter(({ severity }) => severity === 'error'),
      sources: new Map(configurations.map(({ file, text }) => [file, text])),
      generation,
    }
  }

  change({ generation, env = this.served.env, changed, removed }: Change): void {
    const sources = new Map([...this.served.sources, ...changed])
    for (const id of removed) sources.delete(id)
    this.served = { generation, env, sources }
  }
}
