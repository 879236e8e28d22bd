import type { Settings } from '../../src/config/index.ts'

/** Settings of a gateway that shares its process with other tests, and so is never overloaded by its own requests. */
export function patient(settings: Settings): Settings {
  return { ...settings, limits: { ...settings.limits, maxEventLoopDelay: 600_000 } }
}
