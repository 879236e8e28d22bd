import type { Configuration, McpServer, Server } from '../config/index.ts'
import type { Chosen } from './types.ts'

/** Whether a tool behind a router keeps what is cut off its results. */
export function keepsResults(chosen: readonly Chosen[]): boolean {
  return chosen.some(({ server, member }) => server.keepsResults || overridesKeep(member))
}

/** Whether a server of HTTP tools has such a tool. */
export function toolsKeep({ tools }: Configuration, { allowedTools }: Server): boolean {
  return tools.some(({ name, response }) => response?.more && (allowedTools?.includes(name) ?? true))
}

export function overridesKeep({ toolOverrides }: Pick<McpServer, 'toolOverrides'>): boolean {
  return Object.values(toolOverrides).some(({ response }) => response?.more)
}
