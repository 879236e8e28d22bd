import { remade } from '../text/index.ts'
import type { Configuration, Tool } from './model.ts'

const late = new WeakMap<Configuration, () => Tool[]>()

const TOOLS = {
  enumerable: true,
  configurable: true,
  // One for all: a property with a getter of its own would cost each of them a shape of its own.
  get(this: Configuration) {
    return late.get(this)!()
  },
}

function withTools(configuration: object, tools: () => Tool[]): Configuration {
  const made = Object.defineProperty(configuration, 'tools', TOOLS) as Configuration
  late.set(made, tools)
  return made
}

/**
 * Has a configuration without its tools, which are most of it: they are read where they are wanted, and kept while there is
 * memory for them.
 */
export function withLateTools(
  configuration: Omit<Configuration, 'tools'> & { tools?: Tool[] },
  read: () => Tool[],
): Configuration {
  return withTools(configuration, remade(read, configuration.tools))
}

/** A configuration with other members, which reads its tools where the first one does. */
export function withToolsOf(
  configuration: Configuration,
  others: Partial<Omit<Configuration, 'tools'>>,
): Configuration {
  const { tools: _, ...rest } = Object.getOwnPropertyDescriptors(configuration)
  const made = { ...Object.defineProperties({}, rest), ...others }
  return withTools(made, () => configuration.tools)
}
