import { createPools } from '../tools/index.ts'
import { assemble, everything } from './assemble.ts'
import { rulesOf } from './rules.ts'
import { fromPaths } from './source.ts'
import { buildTable, type Table } from './table.ts'
import type { BuildOptions, Loaded } from './types.ts'

/** The table that a gateway would serve, made of the sound configurations; nothing is started or called. */
export async function previewTable({
  paths,
  settings,
  env,
  log,
  version,
  skipInvalid,
}: BuildOptions): Promise<Loaded & { table: Table }> {
  const source = typeof paths === 'function' ? paths : fromPaths(paths)
  const reading = await source(env, rulesOf(settings))
  const { limits, tenants } = settings
  const context = { env, limits, pools: createPools(), log, version, proxies: new Map() }
  const { prepared, findings } = await assemble(reading, new Map(), {
    ...context,
    ...(tenants && { tenants }),
  })
  const told = skipInvalid ? findings : everything(reading, findings)
  return { table: buildTable(1, prepared), findings: told, sources: reading.sources }
}
