/** plantgw as a library: read and check configurations, and serve them from a program of your own. */

export { type CheckOptions, check } from './build/check-configurations.ts'
export type { Reload } from './build/types.ts'
export { readConfiguration, readConfigurations, readSettings } from './checks/index.ts'
export type {
  Configuration,
  ReadConfiguration,
  ReadConfigurationsResult,
  ReadSettings,
  Settings,
} from './config/index.ts'
export { CODES, type Finding, type FindingCode, formatJson, formatText } from './findings/index.ts'
export { createGateway, type Gateway, type GatewayOptions } from './server/gateway.ts'
export { createLog } from './telemetry/log.ts'
export { type Compiled, compile, RenderError, type Template } from './template/index.ts'
