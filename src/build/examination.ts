import type { CheckOptions, Read } from '../checks/check.ts'
import { readConfiguration } from '../checks/index.ts'
import { hasListing } from '../checks/listings.ts'
import { checkAlone } from '../checks/together.ts'
import type { Env, Examined, Limits, Redact, Source, TenantSettings } from '../config/index.ts'
import { type Json, stringify } from '../json/index.ts'
import { HttpClient } from '../net/index.ts'
import { silentLog } from '../telemetry/silent.ts'
import { templateMemo } from '../template/index.ts'
import { giveWayToCalls } from '../text/index.ts'
import { adviceOn, type PracticeOptions } from './advice.ts'
import { PinLocks } from './pin-lock.ts'
import { factsOf, inspect } from './prepare.ts'

/** What is known of a configuration by itself depends on this, and on its text. */
export interface Examination {
  env: Env
  rules: CheckOptions
  limits: Limits
  redact?: Redact | undefined
  tenants?: readonly TenantSettings[]
  /** Also what experience advises against; absent: it is not looked for. */
  practice?: PracticeOptions
}

/** What is in a secret file may be another text a moment later. */
const READS_FILES = '${file:'

/** What examines configurations, each by itself, and keeps nothing of them. */
export function examining({ rules, practice, ...given }: Examination) {
  const context = {
    ...given,
    http: new HttpClient(),
    log: silentLog,
    version: '',
    proxies: new Map(),
    memo: templateMemo(given.env),
    pins: new PinLocks(),
  }

  /** Undefined where anything is found: whoever asked does it again, and knows what else to say of it. */
  async function examine(source: Source): Promise<Examined | undefined> {
    if (source.text.includes(READS_FILES)) return undefined
    const read = readConfiguration(source, given.env, rules)
    // Tools are read again the common way, or not at all.
    if (!read.configuration || !read.letGo || read.findings.length > 0) return undefined
    const sound = read as Read
    if (checkAlone(sound, rules).findings.length > 0) return undefined
    const { prepared, findings } = await inspect(sound, context)
    if (findings.length > 0) return undefined
    // The list of a router with several servers depends on other configurations.
    if (practice && hasListing(sound)) return undefined
    const advice = practice ? adviceOn(sound, new Map([[prepared.id, prepared]]), practice) : []
    const { tools: _, ...rest } = sound.configuration
    return {
      rest: stringify(rest as unknown as Json),
      servers: factsOf(sound.configuration, prepared),
      advice,
    }
  }

  return async (sources: readonly Source[]) => {
    const examined: (Examined | undefined)[] = []
    for (const source of sources) {
      examined.push(await examine(source))
      await giveWayToCalls()
    }
    return examined
  }
}
