import type { Target } from '../target.ts'
import { accept } from './accept.ts'
import { json } from './json.ts'
import { rpc } from './rpc.ts'
import { settings } from './settings.ts'
import { sse } from './sse.ts'
import { template } from './template.ts'
import { yaml } from './yaml.ts'

/** All targets. */
export const TARGETS: readonly Target[] = [accept, json, rpc, settings, sse, template, yaml]
