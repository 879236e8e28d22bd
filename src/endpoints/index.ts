/** Configurations → whether their endpoints can be reached. */

export { type Declared, readDeclared } from './mcp.ts'
export { checkEndpoints, endpointFindings } from './run-checks.ts'
export {
  type CheckEndpointsOptions,
  DEFAULTS,
  type EndpointCheck,
  type Status,
  type Step,
  type User,
} from './types.ts'
