import { DEFAULT_TENANT, type Env, type TenantSettings } from './model.ts'

/** Patterns of the variables that an environment was narrowed to. */
const narrowed = new WeakMap<Env, readonly string[]>()
/** The same environment for the same tenant: what was read with it is known by its identity. */
const known = new WeakMap<Env, Map<string, Env>>()

/**
 * The environment that a tenant's files may read: only variables that the settings name for it. All of it for
 * `default`, and if the settings have no tenants.
 */
export function envOfTenant(env: Env, tenant: string, tenants: readonly TenantSettings[] | undefined): Env {
  if (!tenants || tenant === DEFAULT_TENANT) return env
  const patterns = tenants.find(({ name }) => name === tenant)?.env ?? []
  const key = JSON.stringify(patterns)
  const made = known.get(env) ?? new Map<string, Env>()
  known.set(env, made)
  const before = made.get(key)
  if (before) return before
  const own: Env = Object.fromEntries(Object.entries(env).filter(([name]) => namesVariable(name, patterns)))
  narrowed.set(own, patterns)
  made.set(key, own)
  return own
}

/** Whether the settings withhold a variable from the readers of this environment, set or not. */
export function isWithheld(env: Env, name: string): boolean {
  const patterns = narrowed.get(env)
  return patterns !== undefined && !namesVariable(name, patterns)
}

/** Whether an environment is one of a tenant, whose files the gateway must not read others for. */
export function readsNoFiles(env: Env): boolean {
  return narrowed.has(env)
}

/** Whether one of the patterns, such as `GREEN_*`, names the variable. */
export function namesVariable(name: string, patterns: readonly string[]): boolean {
  return patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one))
}

/** The finding for a withheld variable, in place of the one for an unset variable. */
export function withheld(name: string): { code: 'env-withheld'; message: string; hint: string } {
  return {
    code: 'env-withheld',
    message: `the tenant may not read the environment variable ${name}`,
    hint: `Use another variable, or add ${name} to \`env\` of the tenant in the settings`,
  }
}
