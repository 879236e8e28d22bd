import type { CheckOptions } from '../checks/index.ts'
import type { Settings } from '../config/index.ts'

/** Paths that the gateway keeps for itself. */
export function ownPaths({ plants }: Pick<Settings, 'plants'>): string[] {
  const own = ['/_reload', '/_diff', '/_status', '/_health', '/metrics']
  return plants ? [...own, `${plants.basePath.replace(/(?<!\/)\/+$/, '')}/plants`] : own
}

/** What the settings demand of all configurations together. */
export function rulesOf(settings: Pick<Settings, 'plants' | 'tenants'>): CheckOptions {
  const { tenants } = settings
  return { reserved: ownPaths(settings), ...(tenants && { tenants }) }
}
